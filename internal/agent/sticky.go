package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/agent/wire"
)

// stick takes the sticky claim, or takes it on. It has no lease, so there is nothing to renew and no deadline: it is looked at.
func (a *agent) stick(ctx context.Context, granted func()) (cluster.Lease, error) {
	t := a.hub.target
	if a.start.Grace > 0 {
		t.Grace = a.start.Grace
	}
	o, err := t.Options()
	if err != nil {
		return nil, err
	}
	s := a.start.Sticky
	a.ttl.Store(int64(o.TTL)) // how long the end is awaited
	l, err := cluster.Stick(ctx, a.hub.backend, a.start.Name, cluster.StickyOptions{
		TTL: o.TTL, Grace: o.Grace, Delay: o.Delay, Info: a.start.Info, FailStop: func(string, uint64) { notify(a.failStop) },
		Nonce: s.Nonce, Token: s.Token, Place: s.Place, Places: s.Places, Settled: s.Settled, Away: s.Away,
		Limit: a.start.Limit, Floor: a.start.Floor,
		OnDelay:   func(d time.Duration) { granted(); a.out.say(wire.Message{Kind: wire.Delayed, Limit: d}) },
		OnSettled: a.settled,
		OnFailed:  func(error) { a.hub.failed() },
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// settled tells once that the engine has said whose the claim is: the run writes it down. Before the answer to the start
// it is the answer that says so.
func (a *agent) settled() {
	if a.answered.Load() && a.told.CompareAndSwap(false, true) {
		a.out.say(wire.Message{Kind: wire.Settled})
	}
}

// forget has the directory forget a claim that is gone, as the run does, which may be frozen and be killed before it can. A
// disk that does not answer holds nothing up.
func (a *agent) forget() {
	if s := a.start.Sticky; s != nil && a.o.Forget != nil {
		go a.o.Forget(a.start.Dir, a.start.State, s.Nonce)
	}
}

// stuck is what is said of a sticky claim that was granted; nil for another.
func (a *agent) stuck() *wire.Sticky {
	l, ok := a.lease.(*cluster.Sticky)
	if !ok {
		return nil
	}
	s := &wire.Sticky{Settled: l.Verified()}
	a.told.Store(s.Settled)
	return s
}

// otherMode refuses a claim of the other kind than this run's: neither is ever taken for the other.
func otherMode(h *cluster.HeldError, sticky bool) string {
	switch {
	case h.Foreign || h.Sticky == sticky:
		return ""
	case h.Sticky:
		return fmt.Sprintf("%v; this run wants one with a lease: run with --cluster-down=sticky where it was made, or, when its host is surely dead or fenced, "+
			"solehold cluster break --cluster URL %q --token %d --reason TEXT", h, h.Name, h.Token)
	}
	return fmt.Sprintf("%v; its claim has a lease, and this run wants a sticky one, which is chosen when a lock is made: "+
		"stop its owner first, or run without --cluster-down=sticky", h)
}
