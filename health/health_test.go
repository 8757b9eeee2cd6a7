package health_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/health"
)

func TestVerdict(t *testing.T) {
	var zero health.Result
	if zero.Verdict != health.Unknown {
		t.Errorf("zero result: %v", zero.Verdict)
	}
	for v, name := range map[health.Verdict]string{health.OK: "ok", health.Slow: "slow", health.Fail: "fail", health.Unknown: "unknown", 99: "unknown"} {
		if v.String() != name {
			t.Errorf("%d: %q, want %q", v, v, name)
		}
		if good := name == "ok" || name == "slow"; v.Good() != good {
			t.Errorf("%v: good %v", v, v.Good())
		}
	}
}

func TestResultIsOneLine(t *testing.T) {
	for want, r := range map[string]health.Result{
		"ok: http 200 in 4ms":       {Verdict: health.OK, Detail: "http 200", Took: 4*time.Millisecond + 123456},
		"ok: http 200 in 420µs":     {Verdict: health.OK, Detail: "http 200", Took: 420*time.Microsecond + 77},
		"slow: http 200 in 2.35s":   {Verdict: health.Slow, Detail: "http 200", Took: 2345678 * time.Microsecond},
		"ok: http 200 in 12s":       {Verdict: health.OK, Detail: "http 200", Took: 12345678 * time.Microsecond},
		"fail: connection refused":  {Verdict: health.Fail, Detail: "connection refused", Took: time.Second},
		"unknown: no lookup at all": {Detail: "no lookup at all"},
	} {
		if got := r.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"  plain  \n":            "plain",
		"a\tb\r\nc":              "a b  c",
		"\x1b[31mred":            `\x1b[31mred`,
		"nul\x00":                `nul\x00`,
		"bad \xff byte":          "bad ? byte",
		"grün ✓":                 "grün ✓",
		"\u202etrick":            `\u202etrick`,
		strings.Repeat("x", 200): strings.Repeat("x", 197) + "...",
	} {
		if got := health.Line(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := health.Line(strings.Repeat("\x1b", 1<<20)); len(got) > 200 {
		t.Errorf("%d bytes", len(got))
	}
}

// TestShortagesAreUnknown has what tells about the prober only.
func TestShortagesAreUnknown(t *testing.T) {
	wrap := func(e error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", e)}
	}
	for err, want := range map[error]health.Verdict{
		wrap(syscall.EMFILE):                   health.Unknown,
		wrap(syscall.ENFILE):                   health.Unknown,
		wrap(syscall.EADDRNOTAVAIL):            health.Unknown,
		wrap(syscall.ENOBUFS):                  health.Unknown,
		wrap(syscall.ENOMEM):                   health.Unknown,
		wrap(syscall.ENETUNREACH):              health.Unknown,
		wrap(syscall.EACCES):                   health.Unknown,
		wrap(syscall.EPERM):                    health.Unknown,
		wrap(syscall.ECONNREFUSED):             health.Fail,
		wrap(syscall.ECONNRESET):               health.Fail,
		wrap(syscall.EHOSTUNREACH):             health.Fail,
		wrap(syscall.EAGAIN):                   health.Fail,
		&net.DNSError{Err: "no such host"}:     health.Unknown,
		fmt.Errorf("x: %w", context.Canceled):  health.Unknown,
		context.DeadlineExceeded:               health.Fail,
		errors.New("anything that it answers"): health.Fail,
		nil:                                    health.OK,
	} {
		if got := health.VerdictOf(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}

// TestCancelledIsUnknown has a caller that goes away, before and during the check.
func TestCancelledIsUnknown(t *testing.T) {
	arrived := make(chan struct{})
	addr := serve(t, func(c net.Conn) { close(arrived); silent(c) })
	p := must(t)(health.HTTP("http://"+addr, health.HTTPOptions{}))
	nothingLeft(t, func() {
		ctx, cancel := context.WithCancel(context.Background())
		go func() { <-arrived; cancel() }()
		want(t, p.Check(ctx), health.Unknown, "cancelled")
		want(t, p.Check(ctx), health.Unknown, "cancelled")
		want(t, must(t)(health.TCP(addr)).Check(ctx), health.Unknown, "cancelled")
	})
}

// TestNoDeadlineMeansDefault has a caller that forgot the deadline.
func TestNoDeadlineMeansDefault(t *testing.T) {
	p := must(t)(health.HTTP("http://"+serve(t, silent), health.HTTPOptions{}))
	start := time.Now()
	r := p.Check(context.Background())
	want(t, r, health.Fail, "no answer within ")
	r.Took = time.Since(start)
	inTime(t, r, health.DefaultTimeout)
}

// TestLookupIsUnknown asks for names that cannot be: .invalid is never there.
func TestLookupIsUnknown(t *testing.T) {
	nothingLeft(t, func() {
		want(t, within(ample, must(t)(health.TCP("nobody.invalid:80"))), health.Unknown, "name lookup")
		want(t, within(ample, must(t)(health.HTTP("http://nobody.invalid/", health.HTTPOptions{}))), health.Unknown, "nobody.invalid")
		want(t, within(time.Nanosecond, must(t)(health.TCP("nobody.invalid:80"))), health.Unknown, "name lookup")
	})
}

// TestTimeoutIsNamedAsSet has no odd number of milliseconds in it.
func TestTimeoutIsNamedAsSet(t *testing.T) {
	s := health.DefaultSettings()
	s.Timeout = 2 * brief
	want(t, s.Check(t.Context(), must(t)(health.HTTP("http://"+serve(t, silent), health.HTTPOptions{}))), health.Fail, "no answer within 300ms")
}
