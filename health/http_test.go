package health_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/solehold/solehold/health"
)

// get asks a URL with options.
func get(t testing.TB, target string, opts health.HTTPOptions) health.Result {
	t.Helper()
	return within(ample, must(t)(health.HTTP(target, opts)))
}

// server runs a real HTTP server.
func server(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// coded answers with the code in the path.
func coded(w http.ResponseWriter, r *http.Request) {
	var code int
	fmt.Sscanf(r.URL.Path, "/%d", &code)
	w.WriteHeader(code)
	if code != http.StatusNoContent && code != http.StatusNotModified {
		fmt.Fprintf(w, "\n body of %d\n", code)
	}
}

func TestHTTPStatus(t *testing.T) {
	s := server(t, coded)
	only := func(low, high int) health.HTTPOptions {
		return health.HTTPOptions{Status: health.StatusRange{Min: low, Max: high}}
	}
	for _, x := range []struct {
		code   int
		opts   health.HTTPOptions
		want   health.Verdict
		detail string
	}{
		{200, health.HTTPOptions{}, health.OK, "http 200"},
		{204, health.HTTPOptions{}, health.OK, "http 204"},
		{304, health.HTTPOptions{}, health.OK, "http 304"},
		{399, health.HTTPOptions{}, health.OK, "http 399"},
		{400, health.HTTPOptions{}, health.Fail, "http 400: body of 400"},
		{503, health.HTTPOptions{}, health.Fail, "http 503: body of 503"},
		{503, only(500, 599), health.OK, "http 503"},
		{204, only(200, 200), health.Fail, "http 204"},
		{404, only(404, 404), health.OK, "http 404"},
	} {
		want(t, get(t, fmt.Sprintf("%s/%d", s.URL, x.code), x.opts), x.want, x.detail)
	}
}

func TestHTTPMatch(t *testing.T) {
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/far" {
			fmt.Fprint(w, strings.Repeat("x", 64<<10))
		}
		fmt.Fprint(w, `{"state":"ready"}`)
	})
	match := func(m health.Matcher) health.HTTPOptions { return health.HTTPOptions{Match: m} }
	want(t, get(t, s.URL, match(health.Contains("ready"))), health.OK, "http 200")
	want(t, get(t, s.URL, match(health.Contains("steady"))), health.Fail, `http 200, but the body has no "steady"`)
	want(t, get(t, s.URL, match(regexp.MustCompile(`"state":\s*"(ready|busy)"`))), health.OK, "http 200")
	want(t, get(t, s.URL, match(regexp.MustCompile(`^ready`))), health.Fail, `no "^ready"`)
	want(t, get(t, s.URL+"/far", match(health.Contains("ready"))), health.Fail, `no "ready"`)
	want(t, get(t, s.URL+"/far", health.HTTPOptions{}), health.OK, "http 200")
}

func TestHTTPRequest(t *testing.T) {
	var got *http.Request
	s := server(t, func(_ http.ResponseWriter, r *http.Request) { got = r })
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	want(t, get(t, s.URL+"/a b?c=d e#f", health.HTTPOptions{}), health.OK, "http 200")
	if got.Method != "GET" || got.URL.Path != "/a b" || got.URL.RawQuery != "c=d%20e" || got.Host != strings.TrimPrefix(s.URL, "http://") || !got.Close {
		t.Errorf("%s %q, host %q, close %v", got.Method, got.URL, got.Host, got.Close)
	}
	if h := got.Header; h.Get("User-Agent") != "solehold-probe" || h.Get("Accept") != "*/*" || h.Get("Accept-Encoding") != "" {
		t.Errorf("header %v", h)
	}
	opts := health.HTTPOptions{Header: []health.Header{{"host", "kb.example"}, {"USER-AGENT", "me"}, {"X-A", "1"}, {"X-A", "2"}}}
	want(t, get(t, s.URL, opts), health.OK, "http 200")
	if h := got.Header; got.Host != "kb.example" || h.Get("User-Agent") != "me" || fmt.Sprint(h.Values("X-A")) != "[1 2]" || h.Get("Accept") != "*/*" {
		t.Errorf("host %q, header %v", got.Host, h)
	}
}

// TestHTTPConnectionsAreNotKept counts connections: one for each request.
func TestHTTPConnectionsAreNotKept(t *testing.T) {
	conns := map[string]bool{}
	s := server(t, func(_ http.ResponseWriter, r *http.Request) { conns[r.RemoteAddr] = true })
	p := must(t)(health.HTTP(s.URL, health.HTTPOptions{}))
	for range 5 {
		want(t, within(ample, p), health.OK, "")
	}
	if len(conns) != 5 {
		t.Errorf("%d connections", len(conns))
	}
}

func TestHTTPPeer(t *testing.T) {
	var seen string
	s := server(t, func(_ http.ResponseWriter, r *http.Request) { seen = r.RemoteAddr })
	r := get(t, strings.Replace(s.URL, "127.0.0.1", "localhost", 1), health.HTTPOptions{})
	want(t, r, health.OK, "http 200")
	if r.Peer.Remote != netip.MustParseAddrPort(s.Listener.Addr().String()) || r.Peer.Local.String() != seen {
		t.Errorf("%+v, the server saw %s at %s", r.Peer, seen, s.Listener.Addr())
	}
}

func TestHTTPRedirects(t *testing.T) {
	other := server(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	to := map[string]string{
		"/relative": "202", "/absolute": "//127.0.0.1", "/port": other.URL, "/off": "http://127.0.0.2:1/", "/off-name": "http://nobody.invalid/x",
		"/secure": "https://127.0.0.1/", "/loop": "/loop", "/nowhere": "", "/odd": "gopher://127.0.0.1/", "/garbage": "http://[", "/user": "http://u:p@127.0.0.1:1/",
	}
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		var left int
		location, known := to[r.URL.Path]
		switch _, err := fmt.Sscanf(r.URL.Path, "/hops/%d", &left); {
		case err == nil && left == 0:
			w.WriteHeader(http.StatusAccepted)
			return
		case err == nil:
			location = fmt.Sprintf("/hops/%d", left-1)
		case !known:
			coded(w, r)
			return
		case r.URL.Path == "/absolute":
			location = "http://" + r.Host + "/202"
		}
		if location != "" {
			w.Header().Set("Location", location)
		}
		w.WriteHeader(http.StatusFound)
	})
	for path, detail := range map[string]string{
		"/relative": "http 202", "/absolute": "http 202", "/port": "http 202", "/hops/10": "http 202",
		"/hops/11": "http 302: more than 10 redirects", "/loop": "http 302: more than 10 redirects",
		"/off":      "http 302: not followed: redirect to another host, 127.0.0.2:1",
		"/off-name": "http 302: not followed: redirect to another host, nobody.invalid",
		"/secure":   "http 302: not followed: redirect to https",
		"/nowhere":  "http 302: a redirect to nowhere",
		"/odd":      "http 302: not followed: redirect to gopher:", "/garbage": "http 302: not followed: redirect to http://[",
	} {
		want(t, get(t, s.URL+path, health.HTTPOptions{}), health.OK, detail)
		strict := health.HTTPOptions{Status: health.StatusRange{Min: 200, Max: 299}}
		verdict := health.OK
		if detail != "http 202" {
			verdict = health.Fail
		}
		want(t, get(t, s.URL+path, strict), verdict, detail)
	}
	want(t, get(t, s.URL+"/user", health.HTTPOptions{}), health.Fail, "refused") // followed, without the user
	r := get(t, s.URL+"/port", health.HTTPOptions{})
	if u, _ := url.Parse(other.URL); r.Peer.Remote.String() != u.Host {
		t.Errorf("peer %v, the answer came from %s", r.Peer.Remote, u.Host)
	}
}

func TestHTTPRefused(t *testing.T) {
	want(t, get(t, "http://"+nobody(t), health.HTTPOptions{}), health.Fail, "connection refused")
}

// nobody gives an address where nobody listens.
func nobody(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestHTTPThatCannotBe(t *testing.T) {
	for name, x := range map[string]struct {
		target string
		opts   health.HTTPOptions
		text   string
	}{
		"url":    {"localhost", health.HTTPOptions{}, "no scheme"},
		"https":  {"https://localhost/", health.HTTPOptions{}, "TLS"},
		"status": {"http://localhost/", health.HTTPOptions{Status: health.StatusRange{Min: 500, Max: 200}}, "status codes"},
		"header": {"http://localhost/", health.HTTPOptions{Header: []health.Header{{"A", "b\r\nc: d"}}}, "control character"},
	} {
		_, err := health.HTTP(x.target, x.opts)
		if err == nil || !strings.Contains(err.Error(), x.text) {
			t.Errorf("%s: %v, want %q", name, err, x.text)
		}
		asTarget(t, err)
	}
}

func TestProbesHaveNames(t *testing.T) {
	for name, p := range map[string]health.Probe{
		"http http://127.0.0.1:80/healthz?a=b": must(t)(health.HTTP("http://127.0.0.1:80/healthz?a=b", health.HTTPOptions{})),
		"tcp localhost:80":                     must(t)(health.TCP("localhost:80")),
		"unix @kb":                             must(t)(health.Unix("@kb")),
	} {
		if p.String() != name {
			t.Errorf("%q, want %q", p, name)
		}
	}
}
