package healthtls_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/health"
	"github.com/solehold/solehold/health/healthtls"
)

const (
	brief = 150 * time.Millisecond
	ample = 30 * time.Second
)

func get(t *testing.T, limit time.Duration, target string) health.Result {
	t.Helper()
	p, err := healthtls.HTTP(target, health.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return p.Check(ctx)
}

func want(t *testing.T, r health.Result, v health.Verdict, detail string) {
	t.Helper()
	if r.Verdict != v || !strings.Contains(r.Detail, detail) {
		t.Errorf("%v: %q, want %v: %q", r.Verdict, r.Detail, v, detail)
	}
}

// TestSelfSigned has a certificate that nobody trusts, and a server that could speak HTTP/2.
func TestSelfSigned(t *testing.T) {
	var proto string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proto = r.Proto
		fmt.Fprint(w, "fine")
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	for range 3 {
		r := get(t, ample, s.URL)
		want(t, r, health.OK, "http 200")
		if r.Peer.Remote.String() != s.Listener.Addr().String() {
			t.Errorf("peer %v", r.Peer)
		}
	}
	if proto != "HTTP/1.1" {
		t.Errorf("asked by %s", proto)
	}
	want(t, get(t, ample, strings.Replace(s.URL, "127.0.0.1", "localhost", 1)), health.OK, "http 200")
}

// TestRedirectToSecure follows from http to https on the same host.
func TestRedirectToSecure(t *testing.T) {
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	defer secure.Close()
	plain := httptest.NewServer(http.RedirectHandler(secure.URL, http.StatusMovedPermanently))
	defer plain.Close()
	want(t, get(t, ample, plain.URL), health.OK, "http 202")
}

// TestServersThatHang are silent, or speak something else.
func TestServersThatHang(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	before := runtime.NumGoroutine()
	for range 3 {
		start := time.Now()
		r := get(t, brief, "https://"+l.Addr().String())
		want(t, r, health.Fail, "no TLS handshake within ")
		if took := time.Since(start); took < brief || took > brief+2*time.Second {
			t.Errorf("took %s", took)
		}
	}
	for limit := time.Now().Add(ample); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(limit) {
			t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
		}
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	want(t, get(t, ample, strings.Replace(plain.URL, "http", "https", 1)), health.Fail, "tls: first record does not look like a TLS handshake")
}

// TestSilentAfterHandshake has a server that hangs behind TLS and takes no bytes.
func TestSilentAfterHandshake(t *testing.T) {
	arrived, free := make(chan struct{}, 1), make(chan struct{})
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		io.WriteString(w, "begun")
		w.(http.Flusher).Flush()
		<-free
	}))
	defer s.Close()
	r := get(t, time.Second, s.URL)
	want(t, r, health.Fail, "no end of the body (http 200) within ")
	<-arrived
	close(free)
}

func TestOwnTLSStays(t *testing.T) {
	asked := false
	p, err := healthtls.HTTP("https://"+"127.0.0.1:1", health.HTTPOptions{Secure: func(context.Context, net.Conn, string) (net.Conn, error) {
		asked = true
		return nil, io.ErrUnexpectedEOF
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.Check(t.Context())
	if asked {
		t.Error("nobody listens there")
	}
	if _, err := healthtls.HTTP("https://", health.HTTPOptions{}); err == nil {
		t.Error("no host")
	}
}
