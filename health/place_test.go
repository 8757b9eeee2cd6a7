package health_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/solehold/solehold/health"
)

// brief is a time limit for what hangs; ample is one for what does not, on a busy machine.
const (
	brief = 150 * time.Millisecond
	ample = 30 * time.Second
)

// serve answers each connection with handle and gives the address. At the end of the test all is closed.
func serve(t testing.TB, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			all.Go(func() { handle(conn); conn.Close() })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return l.Addr().String()
}

// answering reads a request's head, writes text and closes.
func answering(text string) func(net.Conn) {
	return func(c net.Conn) {
		readRequest(c)
		io.WriteString(c, text)
	}
}

// answeringThenSilent writes text and then nothing until the other end has closed.
func answeringThenSilent(text string) func(net.Conn) {
	return func(c net.Conn) {
		readRequest(c)
		io.WriteString(c, text)
		io.Copy(io.Discard, c)
	}
}

// answeringForEver writes start and then more and more.
func answeringForEver(start, more string) func(net.Conn) {
	return func(c net.Conn) {
		readRequest(c)
		io.WriteString(c, start)
		for {
			if _, err := io.WriteString(c, more); err != nil {
				return
			}
		}
	}
}

// dripping writes text for ever, a byte in a while.
func dripping(start, text string) func(net.Conn) {
	return func(c net.Conn) {
		readRequest(c)
		io.WriteString(c, start)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i = (i + 1) % len(text) {
			<-tick.C
			if _, err := c.Write([]byte{text[i]}); err != nil {
				return
			}
		}
	}
}

func readRequest(c net.Conn) string {
	var all []byte
	buf := make([]byte, 1024)
	for !strings.HasSuffix(string(all), "\r\n\r\n") {
		n, err := c.Read(buf)
		all = append(all, buf[:n]...)
		if err != nil {
			break
		}
	}
	return string(all)
}

// silent accepts and says nothing until the other end has closed.
func silent(c net.Conn) { io.Copy(io.Discard, c) }

// must takes a probe that must be made.
func must(t testing.TB) func(health.Probe, error) health.Probe {
	return func(p health.Probe, err error) health.Probe {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

// within asks p; Took is measured from outside.
func within(limit time.Duration, p health.Probe) health.Result {
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	r := p.Check(ctx)
	r.Took = time.Since(start)
	return r
}

// want checks verdict and detail.
func want(t testing.TB, r health.Result, v health.Verdict, detail string) {
	t.Helper()
	if r.Verdict != v || !strings.Contains(r.Detail, detail) {
		t.Errorf("%v: %q, want %v: %q", r.Verdict, r.Detail, v, detail)
	}
	if len(r.Detail) > 200 || strings.ContainsAny(r.Detail, "\n\r\x1b\x00") {
		t.Errorf("not a bounded line: %q", r.Detail)
	}
}

// inTime checks that r took its whole limit and not much more.
func inTime(t testing.TB, r health.Result, limit time.Duration) {
	t.Helper()
	const busy = 2 * time.Second // the machine may be
	if r.Took < limit || r.Took > limit+busy {
		t.Errorf("took %s, limit %s", r.Took, limit)
	}
}

// use is what a process uses.
type use struct{ goroutines, descriptors int }

func used() use {
	fds, _ := os.ReadDir("/proc/self/fd") // empty where there is no /proc
	return use{runtime.NumGoroutine(), len(fds)}
}

// nothingLeft runs do and checks that no goroutine and no descriptor is left of it.
func nothingLeft(t testing.TB, do func()) {
	t.Helper()
	before := used()
	do()
	var now use
	limit := time.Now().Add(ample)
	for now = used(); now.goroutines > before.goroutines || now.descriptors > before.descriptors; now = used() {
		if time.Now().After(limit) {
			buf := make([]byte, 1<<16)
			t.Fatalf("before %+v, after %+v\n%s", before, now, buf[:runtime.Stack(buf, true)])
		}
		runtime.Gosched()
	}
}

func asTarget(t testing.TB, err error) *health.TargetError {
	t.Helper()
	var bad *health.TargetError
	if !errors.As(err, &bad) {
		t.Fatalf("error %v, want a *health.TargetError", err)
	}
	return bad
}
