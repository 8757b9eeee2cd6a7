// Package health asks whether a service is well: over HTTP, TCP or a Unix socket, by a command, or by a file that the
// service keeps fresh. Package health/grpchealth asks over gRPC, package health/healthtls adds https.
//
// A probe asks once and answers with a verdict. How often it is asked, and what follows from its answers, is up to the
// caller; [Settings] has the words and defaults of Kubernetes for that, and [Settings.Check] asks once by them.
//
// A verdict is about the service only. Where the probe could not ask properly (no descriptor or local port left, a name
// that cannot be looked up, a command that cannot be started, a prober that got no processor time) the verdict is
// [Unknown], which must never be a reason to stop anything.
//
// A check never outlives its time: when Check returns, its goroutines, connections and processes are gone, and at its
// deadline it returns. A server that hangs costs one descriptor for that long. The one exception is a system call that
// the kernel does not give back (a dead network file system under a heartbeat file or under a command): Check returns
// 0.3 s late then, one goroutine waits for the kernel, and until it is back the probe answers Unknown without asking.
//
// Not promised: that an answer comes from the service that was meant. Another process may listen on its port;
// [Result.Peer] says what was connected so that the caller can compare it with the processes that it knows.
package health

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"
)

// DefaultTimeout is the time for a check whose context has no deadline.
const DefaultTimeout = time.Second

// Verdict is what one check says about the service.
type Verdict int

const (
	// Unknown means that the check says nothing about the service. It is the zero value.
	Unknown Verdict = iota
	// OK means that the service answered as it should.
	OK
	// Slow means that the service answered as it should but used more than half of its time. Only [Settings.Check]
	// gives it. It is no failure; it tells that the time limit is near.
	Slow
	// Fail means that the service answered wrongly, refused, or did not answer in time.
	Fail
)

// String gives ok, slow, fail or unknown.
func (v Verdict) String() string {
	switch v {
	case OK:
		return "ok"
	case Slow:
		return "slow"
	case Fail:
		return "fail"
	}
	return "unknown"
}

// Good says whether the service is well: ok or slow.
func (v Verdict) Good() bool { return v == OK || v == Slow }

// Peer is the other end of the connection over which the answer came. What does not apply is zero.
type Peer struct {
	// Local is this end.
	Local netip.AddrPort
	// Remote is the service's end: its port is the one whose listening socket answered.
	Remote netip.AddrPort
	// Path is the Unix socket's path.
	Path string
	// PID is the process that opened the Unix socket for listening, as the kernel tells it; Linux only. It is 0 where
	// that process is not visible from here.
	PID int
}

// Result is the outcome of one check.
type Result struct {
	// Verdict is what the check says about the service.
	Verdict Verdict
	// Detail is one printable line of at most 200 bytes for people, without the time that it took.
	Detail string
	// Took is the time from asking to knowing.
	Took time.Duration
	// Peer is what was connected, also where its answer was wrong; zero for commands and files.
	Peer Peer
}

// String gives the result as one line, for example "ok: http 200 in 4ms".
func (r Result) String() string {
	if r.Verdict.Good() {
		return fmt.Sprintf("%s: %s in %s", r.Verdict, r.Detail, short(r.Took))
	}
	return fmt.Sprintf("%s: %s", r.Verdict, r.Detail)
}

// Probe is one way to ask. The probes of this package may be used by several goroutines at once.
type Probe interface {
	// Check asks once, until the deadline of ctx, or for [DefaultTimeout] if there is none.
	Check(ctx context.Context) Result
	// String names the probe for people, for example "http http://127.0.0.1:80/healthz".
	String() string
}

// check is one check under way.
type check struct {
	ctx   context.Context
	start time.Time
	limit time.Duration
	peer  Peer
}

// begin starts a check, whose context ends with the returned function.
func begin(ctx context.Context) (*check, context.CancelFunc) {
	cancel := context.CancelFunc(func() {})
	if _, ok := ctx.Deadline(); !ok {
		ctx, cancel = context.WithTimeout(ctx, DefaultTimeout)
	}
	deadline, _ := ctx.Deadline()
	c := &check{ctx: ctx, start: time.Now()}
	c.limit = deadline.Sub(c.start)
	if whole, ok := ctx.Value(limitKey{}).(time.Duration); ok {
		c.limit = whole
	}
	return c, cancel
}

// end makes the result.
func (c *check) end(v Verdict, format string, args ...any) Result {
	return Result{Verdict: v, Detail: Line(fmt.Sprintf(format, args...)), Took: time.Since(c.start), Peer: c.peer}
}

// failed makes the result of an error; missing is what has not come if the time was up.
func (c *check) failed(missing string, err error) Result {
	var lookup *net.DNSError
	switch {
	case errors.Is(c.ctx.Err(), context.Canceled):
		return c.end(Unknown, "the check was cancelled")
	case errors.As(err, &lookup):
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return c.end(Fail, "no %s within %s", missing, short(c.limit))
	}
	return c.end(VerdictOf(err), "%s", words(err))
}
