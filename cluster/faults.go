package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Op is one kind of request to an engine.
type Op string

// The kinds of requests. OpAny in a rule is each of them.
const (
	OpGrant   Op = "grant"
	OpRenew   Op = "renew"
	OpClaim   Op = "claim"
	OpVerify  Op = "verify"
	OpRelease Op = "release"
	OpRevoke  Op = "revoke"
	OpWait    Op = "wait"
	OpAny     Op = "*"
)

// Fault is one rule about messages between a client and a [Memory] engine. Its text is
//
//	OP.request lost SPAN     the engine never sees it
//	OP.answer lost SPAN      the engine has done it, and the client never hears
//	OP.request late TIME SPAN, OP.answer late TIME SPAN
//
// SPAN is "3" or "2-5", the messages of this OP by their number, or "@2s..9s", the time since the engine was made. A lost
// message is silence, not an error. A late request is carried out even if its caller has given up.
type Fault struct {
	// Op is what the message is.
	Op Op
	// Answer says that the answer is meant, not the request.
	Answer bool
	// Late is by how much the message is late; 0 is lost.
	Late time.Duration
	// From and To are the numbers of the first and last message, unless they are 0.
	From, To int
	// Since and Until are the time in which the rule holds, unless there are numbers.
	Since, Until time.Duration
}

// Faults are the rules for one client. The first one that fits counts.
type Faults []Fault

// String gives the text that ParseFaults reads.
func (f Fault) String() string {
	phase, what, span := "request", "lost", fmt.Sprintf("@%v..%v", f.Since, f.Until)
	if f.Answer {
		phase = "answer"
	}
	if f.Late > 0 {
		what = "late " + f.Late.String()
	}
	if f.From > 0 {
		span = fmt.Sprintf("%d-%d", f.From, f.To)
	}
	return fmt.Sprintf("%s.%s %s %s", f.Op, phase, what, span)
}

// String gives the rules, each ended by a semicolon but the last.
func (f Faults) String() string {
	var all []string
	for _, x := range f {
		all = append(all, x.String())
	}
	return strings.Join(all, "; ")
}

// ParseFaults reads rules that are separated by semicolons.
func ParseFaults(text string) (Faults, error) {
	var all Faults
	for line := range strings.SplitSeq(text, ";") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		f, err := parseFault(strings.Fields(line))
		if err != nil {
			return nil, fmt.Errorf("fault %q: %w", line, err)
		}
		all = append(all, f)
	}
	return all, nil
}

var errFault = errors.New("want OP.request|answer lost|late TIME N|N-M|@TIME..TIME")

func parseFault(words []string) (f Fault, err error) {
	if len(words) < 3 {
		return f, errFault
	}
	op, phase, _ := strings.Cut(words[0], ".")
	f.Op, f.Answer = Op(op), phase == "answer"
	ops := []Op{OpGrant, OpRenew, OpClaim, OpVerify, OpRelease, OpRevoke, OpWait, OpAny}
	if !slices.Contains(ops, f.Op) || phase != "request" && phase != "answer" {
		return f, errFault
	}
	if words[1] == "late" && len(words) == 4 {
		if f.Late, err = time.ParseDuration(words[2]); err != nil || f.Late <= 0 {
			return f, errFault
		}
	} else if words[1] != "lost" || len(words) != 3 {
		return f, errFault
	}
	return f, f.parseSpan(words[len(words)-1])
}

func (f *Fault) parseSpan(span string) error {
	var err1, err2 error
	if times, ok := strings.CutPrefix(span, "@"); ok {
		since, until, _ := strings.Cut(times, "..")
		f.Since, err1 = time.ParseDuration(since)
		f.Until, err2 = time.ParseDuration(until)
	} else {
		from, to, ok := strings.Cut(span, "-")
		if !ok {
			to = from
		}
		f.From, err1 = strconv.Atoi(from)
		f.To, err2 = strconv.Atoi(to)
		if f.From < 1 || f.To < f.From {
			return errFault
		}
	}
	if err1 != nil || err2 != nil || f.Until < f.Since {
		return errFault
	}
	return nil
}

func (f Fault) fits(op Op, n int, at time.Duration) bool {
	switch {
	case f.Op != op && f.Op != OpAny:
		return false
	case f.From > 0:
		return f.From <= n && n <= f.To
	}
	return f.Since <= at && at < f.Until
}

// wire is the way of one client's messages.
type wire struct {
	faults Faults
	clock  func() time.Duration
	cut    atomic.Bool

	mu    sync.Mutex
	count map[Op]int
}

// number counts the messages of an op.
func (w *wire) number(op Op) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count[op]++
	return w.count[op]
}

// trip carries do out at the engine, with the faults of this message. It returns when ctx ends, whatever is on its way.
func (w *wire) trip(ctx context.Context, op Op, do func()) error {
	n := w.number(op)
	done := make(chan struct{})
	go func() {
		if !w.pass(op, n, false) {
			return
		}
		do()
		if w.pass(op, n, true) {
			close(done)
		}
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pass reports whether a message arrives, after its delay.
func (w *wire) pass(op Op, n int, answer bool) bool {
	if w.cut.Load() {
		return false
	}
	for _, f := range w.faults {
		if f.Answer != answer || !f.fits(op, n, w.clock()) {
			continue
		}
		if f.Late == 0 {
			return false
		}
		<-time.After(f.Late)
		return true
	}
	return true
}
