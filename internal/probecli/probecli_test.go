package probecli_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/probecli"
	"google.golang.org/grpc"
	grpcserver "google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// probe runs a command line and checks how it ends and the one line that it prints.
func probe(t *testing.T, code int, line string, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	got := probecli.Run(context.Background(), &out, &errs, args)
	where := &out
	if code == 64 {
		where = &errs
	}
	if got != code || !strings.HasPrefix(where.String(), line) {
		t.Errorf("%q: exit %d, out %q, err %q; want %d, %q", args, got, out.String(), errs.String(), code, line)
	}
	if code != 64 && (strings.Count(out.String(), "\n") != 1 || errs.Len() > 0) {
		t.Errorf("%q: not one line: %q, %q", args, out.String(), errs.String())
	}
	if code == 64 && out.Len() > 0 {
		t.Errorf("%q: on stdout: %q", args, out.String())
	}
}

func TestGRPC(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, state := grpc.NewServer(), grpcserver.NewServer()
	healthpb.RegisterHealthServer(s, state)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	defer func() { s.Stop(); <-done }()
	addr := l.Addr().String()
	probe(t, 0, "ok: grpc SERVING in ", "grpc", addr, "--timeout", "30s")
	probe(t, 1, "fail: grpc: the server does not know", "grpc", addr+"/kb", "--timeout=30")
	state.SetServingStatus("kb", healthpb.HealthCheckResponse_NOT_SERVING)
	probe(t, 1, "fail: grpc NOT_SERVING", "--timeout=30", "grpc", addr+"/kb")
	probe(t, 1, "fail: dial tcp 127.0.0.1:1: connect: connection refused", "grpc", "127.0.0.1:1", "--timeout=30")
	probe(t, 2, "unknown: name lookup: ", "grpc", "nobody.invalid:1", "--timeout=30")
}

func TestHTTP(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		io.WriteString(w, "hello "+r.Header.Get("X-A")+r.Host+"\n")
	})
	plain, secure := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	defer plain.Close()
	defer secure.Close()
	for _, target := range []string{plain.URL, secure.URL} {
		probe(t, 1, "fail: http 418: hello ", "http", target, "--timeout=30")
		probe(t, 0, "ok: http 418 in ", "http", target, "--timeout=30", "--status", "418", "--match", "^hello one", "--header", "X-A: one")
		probe(t, 0, "ok: http 418 in ", "http", target, "--timeout=30", "--status", "400-499", "--match", "hello onekb", "--header", "X-A: one", "--header", "Host: kb")
		probe(t, 1, `fail: http 418, but the body has no "b[y]e"`, "http", target, "--timeout=30", "--status", "418", "--match", "b[y]e")
	}
}

func TestSockets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for network, at := range map[string]string{"tcp": "127.0.0.1:0", "unix": path} {
		l, err := net.Listen(network, at)
		if err != nil {
			t.Fatal(err)
		}
		target := l.Addr().String()
		probe(t, 0, "ok: "+network+" connected in ", network, target, "--timeout=30")
		if network == "tcp" {
			probe(t, 1, "fail: no answer within 100ms", "http", "http://"+target, "--timeout=100ms")
			probe(t, 1, "fail: no TLS handshake within 100ms", "http", "https://"+target, "--timeout=.1")
		}
		l.Close()
		probe(t, 1, "fail: ", network, target, "--timeout=30")
	}
	probe(t, 2, "unknown: name lookup: ", "tcp", "nobody.invalid:1", "--timeout=30")
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alive")
	probe(t, 1, "fail: no such file", "file", path)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	probe(t, 0, "ok: file touched ", "file", path)
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	probe(t, 1, "fail: file not touched for 1m0s, longer than 30s", "file", path)
	probe(t, 0, "ok: file touched ", "file", path, "--max-age", "3600")
}

func TestUsage(t *testing.T) {
	for line, args := range map[string]string{
		`unknown command "ftp"`:        "ftp localhost",
		"which target? grpc takes":     "grpc",
		"which target? tcp takes":      "tcp a:1 b:2",
		`"localhost": no port`:         "tcp localhost",
		`"localhost": no scheme`:       "http localhost",
		`"s": path is relative`:        "unix s",
		`"s": path is rel`:             "file s",
		`"2xx": not a range`:           "http http://localhost --status 2xx",
		"error parsing regexp":         "http http://localhost --match (",
		`"X-A": not a header`:          "http http://localhost --header X-A",
		"invalid argument \"soon\"":    "tcp localhost:1 --timeout soon",
		"timeout: must be positive":    "tcp localhost:1 --timeout 0",
		"unknown flag: --no-such-flag": "tcp localhost:1 --no-such-flag",
	} {
		probe(t, 64, "solehold-probe: "+line, strings.Fields(args)...)
	}
}

func TestHelp(t *testing.T) {
	var out, errs bytes.Buffer
	if code := probecli.Run(context.Background(), &out, &errs, nil); code != 0 || !strings.Contains(out.String(), "Exit codes:") || errs.Len() > 0 {
		t.Errorf("exit %d, %q, %q", code, out.String(), errs.String())
	}
}
