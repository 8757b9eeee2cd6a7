package grpchealth_test

import (
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/health"
	"github.com/solehold/solehold/health/grpchealth"
	"google.golang.org/grpc"
	grpcserver "google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

const (
	brief = 200 * time.Millisecond
	ample = 30 * time.Second
)

func ask(t *testing.T, limit time.Duration, target string) health.Result {
	t.Helper()
	p, err := grpchealth.New(target)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	r := p.Check(ctx)
	if len(r.Detail) > 200 || strings.ContainsAny(r.Detail, "\n\x1b") {
		t.Errorf("not a bounded line: %q", r.Detail)
	}
	return r
}

func want(t *testing.T, r health.Result, v health.Verdict, detail string) {
	t.Helper()
	if r.Verdict != v || !strings.Contains(r.Detail, detail) {
		t.Errorf("%v: %q, want %v: %q", r.Verdict, r.Detail, v, detail)
	}
}

// server runs a real gRPC server with what register adds.
func server(t *testing.T, register func(*grpc.Server)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	register(s)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-done })
	return l.Addr().String()
}

func TestServer(t *testing.T) {
	state := grpcserver.NewServer()
	addr := server(t, func(s *grpc.Server) { healthpb.RegisterHealthServer(s, state) })
	state.SetServingStatus("kb", healthpb.HealthCheckResponse_NOT_SERVING)
	state.SetServingStatus("a/b", healthpb.HealthCheckResponse_SERVING)
	r := ask(t, ample, addr)
	want(t, r, health.OK, "grpc SERVING")
	if r.Peer.Remote.String() != addr || !r.Peer.Local.IsValid() || r.Took <= 0 {
		t.Errorf("%+v", r)
	}
	want(t, ask(t, ample, strings.Replace(addr, "127.0.0.1", "localhost", 1)), health.OK, "grpc SERVING")
	want(t, ask(t, ample, addr+"/a/b"), health.OK, "grpc SERVING")
	want(t, ask(t, ample, addr+"/kb"), health.Fail, "grpc NOT_SERVING")
	want(t, ask(t, ample, addr+"/none"), health.Fail, "does not know this service")
	state.Shutdown()
	want(t, ask(t, ample, addr), health.Fail, "grpc NOT_SERVING")
}

func TestServerWithoutHealth(t *testing.T) {
	want(t, ask(t, ample, server(t, func(*grpc.Server) {})), health.Fail, "no health service")
}

// hanging is a health service that never answers.
type hanging struct {
	healthpb.UnimplementedHealthServer
}

func (hanging) Check(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestServerThatHangs(t *testing.T) {
	addr := server(t, func(s *grpc.Server) { healthpb.RegisterHealthServer(s, hanging{}) })
	start := time.Now()
	r := ask(t, brief, addr)
	want(t, r, health.Fail, "no answer in time")
	if took := time.Since(start); took < brief || took > brief+2*time.Second {
		t.Errorf("took %s", took)
	}
}

// raw answers each connection with handle.
func raw(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { handle(c); c.Close() }()
		}
	}()
	return l.Addr().String()
}

func TestNoServer(t *testing.T) {
	silent := raw(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	want(t, ask(t, brief, silent), health.Fail, "no answer in time")
	garbage := raw(t, func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n\x1b[2J") })
	want(t, ask(t, ample, garbage), health.Fail, "grpc Unavailable")
	want(t, ask(t, ample, "127.0.0.1:1"), health.Fail, "refused")
	want(t, ask(t, ample, "nobody.invalid:1"), health.Unknown, "name lookup")
}

func TestCancelled(t *testing.T) {
	arrived := make(chan struct{}, 1)
	addr := raw(t, func(c net.Conn) { arrived <- struct{}{}; io.Copy(io.Discard, c) })
	p, err := grpchealth.New(addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	want(t, p.Check(ctx), health.Unknown, "cancelled")
	want(t, p.Check(ctx), health.Unknown, "cancelled")
}

// TestNothingIsLeft asks servers of all kinds and counts.
func TestNothingIsLeft(t *testing.T) {
	used := func() (goroutines, descriptors int) {
		fds, _ := os.ReadDir("/proc/self/fd") // empty where there is no /proc
		return runtime.NumGoroutine(), len(fds)
	}
	for name, target := range map[string]string{
		"good":   server(t, func(s *grpc.Server) { healthpb.RegisterHealthServer(s, grpcserver.NewServer()) }),
		"hangs":  server(t, func(s *grpc.Server) { healthpb.RegisterHealthServer(s, hanging{}) }),
		"silent": raw(t, func(c net.Conn) { io.Copy(io.Discard, c) }),
		"nobody": "127.0.0.1:1",
	} {
		ask(t, brief, target)
		goroutines, descriptors := used()
		for range 3 {
			ask(t, brief, target)
		}
		for limit := time.Now().Add(ample); ; runtime.Gosched() {
			g, d := used()
			if g <= goroutines && d <= descriptors {
				break
			}
			if time.Now().After(limit) {
				t.Fatalf("%s: %d goroutines and %d descriptors, before %d and %d", name, g, d, goroutines, descriptors)
			}
		}
	}
}

func TestTargets(t *testing.T) {
	for target, name := range map[string]string{"localhost:1": "grpc localhost:1", "localhost:1/kb": "grpc localhost:1/kb"} {
		p, err := grpchealth.New(target)
		if err != nil || p.String() != name {
			t.Errorf("%q: %v, %v", target, p, err)
		}
	}
	for _, target := range []string{"", "localhost", "http://localhost:1", ":1"} {
		if _, err := grpchealth.New(target); err == nil {
			t.Errorf("%q was taken", target)
		}
	}
}
