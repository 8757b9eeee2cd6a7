package health_test

import (
	"strings"
	"testing"

	"github.com/solehold/solehold/health"
)

// targets checks that a parser takes the good ones and says of the others what is wrong.
func targets(t *testing.T, parse func(string) error, good []string, bad map[string]string) {
	t.Helper()
	for _, target := range good {
		if err := parse(target); err != nil {
			t.Errorf("%q: %v", target, err)
		}
	}
	for target, what := range bad {
		err := parse(target)
		if err == nil {
			t.Errorf("%q was taken", target)
			continue
		}
		asTarget(t, err)
		if text := err.Error(); !strings.Contains(text, what) || len(text) > 200 || strings.ContainsAny(text, "\n\x1b\x00") {
			t.Errorf("%q: %q, want %q in one line", target, text, what)
		}
	}
}

func TestParseHTTP(t *testing.T) {
	parse := func(s string) error { _, err := health.ParseHTTP(s); return err }
	targets(t, parse, []string{
		"http://localhost", "http://127.0.0.1:8080/healthz?full=1", "https://[::1]:8443/", "HTTP://a.example:1/", "http://[fe80::1%25lo]:80/x",
		"http://my_service.local:8080/",
	}, map[string]string{
		"":                               "no scheme",
		"localhost/healthz":              "no scheme",
		"localhost:8080/healthz":         `scheme "localhost"`,
		"127.0.0.1:8080":                 "not a URL",
		"ftp://a/":                       `scheme "ftp"`,
		"unix:///run/x":                  `scheme "unix"`,
		"http://":                        "no host",
		"http:///healthz":                "no host",
		"http:healthz":                   "no host",
		"http://:8080/":                  "no host",
		"http://a:/":                     "no port",
		"http://a:0/":                    `port "0"`,
		"http://a:65536/":                `port "65536"`,
		"http://a:http/":                 "not a URL",
		"http://a b/":                    "not a URL",
		"http://a/\x1b[0m":               "not a URL",
		"http://a/\r\nX: y":              "not a URL",
		"http://[::1/":                   "not a URL",
		"http://bücher.example/":         "neither an address nor a name in ASCII",
		"http://a/%zz":                   "not a URL",
		"http://" + longName + "/":       "neither an address",
		"http://u:secret@a/":             "user and password",
		"http://" + longName + ":99999/": "port",
	})
	if _, err := health.ParseHTTP("http://u:secret@a/"); strings.Contains(err.Error(), "secret") {
		t.Errorf("the password is in %q", err)
	}
}

var longName = strings.Repeat("a", 300)

func TestParseTCP(t *testing.T) {
	targets(t, health.ParseTCP, []string{"localhost:80", "127.0.0.1:1", "[::1]:65535", "[fe80::1%lo]:80", "a-b.c:7"}, map[string]string{
		"":                "no port",
		"localhost":       "no port",
		"localhost:":      "no port",
		":80":             "no host",
		"::1:80":          "[HOST]:PORT",
		"[::1]":           "no port",
		"[::1:80":         "HOST:PORT",
		"a:0":             "must be a number from 1 to 65535",
		"a:-1":            "must be a number",
		"a:65536":         "must be a number",
		"a:http":          "must be a number",
		"http://a:80":     "HOST:PORT",
		"a/b:80":          "neither an address",
		"a\x00b:80":       "neither an address",
		longName + ":80":  "neither an address",
		"a:" + longName:   "must be a number",
		"a:80/" + "x":     "must be a number",
		"[a b]:80":        "neither an address",
		"999.1.1.1:\n800": "must be a number",
	})
}

func TestParseUnix(t *testing.T) {
	targets(t, health.ParseUnix, []string{"/run/kb.sock", "@kb", "/" + strings.Repeat("x", 102)}, map[string]string{
		"":                             "no path",
		"kb.sock":                      "relative",
		"./kb.sock":                    "relative",
		"@":                            "relative",
		"/" + strings.Repeat("x", 103): "at most 103",
		"/run/\x00x":                   "null byte",
	})
}

func TestParseGRPC(t *testing.T) {
	for target, want := range map[string][2]string{
		"127.0.0.1:50051":    {"127.0.0.1:50051", ""},
		"127.0.0.1:50051/":   {"127.0.0.1:50051", ""},
		"[::1]:50051/kb.Api": {"[::1]:50051", "kb.Api"},
		"a:1/b/c":            {"a:1", "b/c"},
	} {
		address, service, err := health.ParseGRPC(target)
		if err != nil || address != want[0] || service != want[1] {
			t.Errorf("%q: %q, %q, %v", target, address, service, err)
		}
	}
	parse := func(s string) error { _, _, err := health.ParseGRPC(s); return err }
	targets(t, parse, nil, map[string]string{"": "no port", "a": "no port", "/kb": "no port", "http://a:1": "without a scheme", "a:0/kb": "port"})
}

func TestParseStatus(t *testing.T) {
	for text, want := range map[string]health.StatusRange{"200-399": {200, 399}, "204": {204, 204}, "100-599": {100, 599}} {
		s, err := health.ParseStatus(text)
		if err != nil || s != want || s.String() != text {
			t.Errorf("%q: %v, %v", text, s, err)
		}
		if s.Contains(want.Min-1) || !s.Contains(want.Min) || !s.Contains(want.Max) || s.Contains(want.Max+1) {
			t.Errorf("%q: wrong ends", text)
		}
	}
	parse := func(s string) error { _, err := health.ParseStatus(s); return err }
	const say = "say for example 200-399 or 204"
	targets(t, parse, nil, map[string]string{
		"": say, "ok": say, "2xx": say, "200-": say, "-200": say, "399-200": say, "99": say, "200-600": say, "200,204": say, "200 - 299": say, "+200": say,
	})
}

func TestParseHeader(t *testing.T) {
	for line, want := range map[string]health.Header{
		"X-Token: a b":           {"X-Token", "a b"},
		"Host:kb.example":        {"Host", "kb.example"},
		"X-Empty:":               {"X-Empty", ""},
		"Authorization: Basic =": {"Authorization", "Basic ="},
	} {
		if h, err := health.ParseHeader(line); err != nil || h != want {
			t.Errorf("%q: %+v, %v", line, h, err)
		}
	}
	parse := func(s string) error { _, err := health.ParseHeader(s); return err }
	targets(t, parse, nil, map[string]string{
		"":                           "NAME: VALUE",
		"X-Token":                    "NAME: VALUE",
		": value":                    "not the name",
		"A B: c":                     "not the name",
		"A\r\nB: c":                  "not the name",
		"A: b\r\nC: d":               "control character",
		"A: \x00":                    "control character",
		"connection: keep-alive":     "cannot be set",
		"Content-Length: 5":          "cannot be set",
		"Transfer-Encoding: chunked": "cannot be set",
	})
	if err := parse("A: secret\x00"); strings.Contains(err.Error(), "secret") {
		t.Errorf("the value is in %q", err)
	}
}
