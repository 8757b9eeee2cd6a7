package lease_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/solehold/solehold/internal/lease"
)

// world is two clients and an engine, and what an onlooker knows: only inputs, commands and what the engine does.
type world struct {
	now    time.Duration
	engine engine
	hosts  [2]host
	tokens uint64 // the highest of an owner
	broken bool   // a claim was broken and its owner has not heard of it: two owners are excused
}

// host is one client.
type host struct {
	m      *lease.Machine
	behind time.Duration // by how much its clock stood still
	timer  time.Duration
	mail   []message
	claims uint64
	base   time.Duration // as the onlooker counts it
	doubt  bool
	before uint64 // the last command before the doubt
	fresh  bool   // a renewal from after the doubt was acknowledged
	claim  tenure
}

// tenure is the claim that a host is at.
type tenure struct {
	id       uint64
	wanted   bool // acquired and not rejected or forgotten
	acting   bool // may work
	frozen   bool
	told     bool
	killed   bool
	hurry    bool          // its lease or claim is known to be gone
	clean    bool          // it had to begin at once
	answered bool          // claimed
	ready    time.Duration // before which it may not begin
	gone     bool          // it was told that it is gone
}

func newWorld(out lease.Guard) (*world, error) {
	w := &world{now: time.Hour, engine: engine{owner: -1, first: true}}
	for i := range w.hosts {
		m, err := lease.New(lease.Config{TTL: ttl, Grace: 4 * unit, Delay: delay}, w.now)
		if err != nil {
			return nil, err
		}
		m.Without(out)
		w.hosts[i] = host{m: m, timer: lease.Never}
	}
	return w, nil
}

func (w *world) clone() *world {
	c := *w
	for i := range c.hosts {
		c.hosts[i].m = w.hosts[i].m.Clone()
		c.hosts[i].mail = slices.Clone(w.hosts[i].mail)
	}
	return &c
}

// clock is what the host's clock shows.
func (w *world) clock(i int) time.Duration { return w.now - w.hosts[i].behind }

// give gives an input to a host and judges the commands.
func (w *world) give(i int, in lease.Input) error {
	h := &w.hosts[i]
	h.see(in, w.clock(i))
	out := h.m.Step(w.clock(i), in)
	for _, c := range out {
		if err := w.judge(i, c); err != nil {
			return fmt.Errorf("host %d: %v: %w", i, c, err)
		}
	}
	for _, c := range out {
		if slices.Contains([]lease.Op{lease.Grant, lease.Renew, lease.Verify, lease.Ask, lease.Release, lease.Revoke}, c.Op) {
			h.mail = append(h.mail, message{cmd: c, sent: w.clock(i)})
		}
	}
	return w.check(i, in)
}

// see takes note of what the onlooker knows from an input.
func (h *host) see(in lease.Input, now time.Duration) {
	switch in.Kind {
	case lease.Tick:
		h.timer = lease.Never
	case lease.Doubt:
		h.doubt, h.fresh, h.before = h.m.State() == lease.Live, false, h.m.LastID()
	case lease.LeaseGone:
		h.claim.gone = h.claim.acting
	case lease.ClaimGone:
		h.claim.gone = h.claim.acting && in.Claim == h.claim.id
	case lease.Claimed:
		if t := &h.claim; in.Claim == t.id && t.wanted && !t.answered {
			t.answered, t.ready, t.clean = true, now, in.Clean
			if !in.Clean {
				t.ready = now + max(delay, in.Delay)
			}
		}
	case lease.Stopped:
		h.claim.acting = false
	}
}

// sentAt moves the base when a renewal is acknowledged, before the input is given.
func (h *host) sentAt(m message) {
	if m.cmd.Op != lease.Renew && m.cmd.Op != lease.Grant {
		return
	}
	if m.answer.Kind == lease.Acked || m.answer.Kind == lease.Granted {
		h.base = max(h.base, m.sent)
		h.fresh = h.fresh || h.doubt && m.cmd.ID > h.before
	}
}

// judge finds a command that may never be given.
func (w *world) judge(i int, c lease.Command) error {
	h := &w.hosts[i]
	t := &h.claim
	now := w.clock(i)
	switch c.Op {
	case lease.Wake:
		h.timer = c.At
	case lease.Own:
		return w.own(i, c)
	case lease.Tell:
		if t.told {
			return errors.New("told twice")
		}
		t.told, t.hurry = true, c.Cause == lease.BecauseLeaseGone || c.Cause == lease.BecauseClaimGone
	case lease.Kill:
		t.killed = true
	case lease.FailStop:
		t.acting = false
	case lease.Freeze:
		t.frozen = true
	case lease.Thaw:
		if h.doubt && !h.fresh {
			return errors.New("thawed in doubt")
		}
		t.frozen, h.doubt = false, false
	case lease.Ask:
		if now >= h.base+12*unit {
			return errors.New("asked for on a lease that is over")
		}
	case lease.Release:
		if t.acting && t.id == c.Claim {
			return errors.New("given back while the work goes on")
		}
		if c.Clean && t.id == c.Claim && t.answered && !t.clean && !t.told && t.ready > now {
			return errors.New("it releases its predecessor")
		}
	case lease.Revoke:
		if t.acting {
			return errors.New("the lease is given back while the work goes on")
		}
	case lease.Reject, lease.Forget:
		if c.Claim == t.id {
			t.wanted = false
		}
	}
	return nil
}

func (w *world) own(i int, c lease.Command) error {
	h := &w.hosts[i]
	t, now := &h.claim, w.clock(i)
	switch {
	case !t.wanted || t.id != c.Claim:
		return errors.New("an owner that nobody wants")
	case t.told || t.acting:
		return errors.New("an owner again")
	case now >= h.base+12*unit:
		return errors.New("an owner without time")
	case now < t.ready:
		return errors.New("an owner before the lock-delay is over")
	case h.doubt && !h.fresh:
		return errors.New("an owner in doubt")
	case c.Token <= w.tokens:
		return fmt.Errorf("token %d after %d", c.Token, w.tokens)
	}
	t.acting, w.tokens = true, c.Token
	return nil
}

// check finds what may never be.
func (w *world) check(i int, in lease.Input) error {
	h := &w.hosts[i]
	t, age := &h.claim, w.clock(i)-h.base
	switch {
	case w.hosts[0].working() && w.hosts[1].working() && !w.broken:
		return errors.New("two owners")
	case !t.acting:
	case t.gone && !t.told:
		return fmt.Errorf("host %d: not told at once", i)
	case age >= 12*unit && !t.told:
		return fmt.Errorf("host %d: not told in time", i)
	case age >= 16*unit && !t.killed:
		return fmt.Errorf("host %d: not killed in time", i)
	case age >= 18*unit:
		return fmt.Errorf("host %d: not stopped in time", i)
	case in.Kind == lease.Doubt && !t.frozen && !t.told:
		return fmt.Errorf("host %d: works in doubt", i)
	}
	if h.m.State() == lease.Live && h.timer == lease.Never {
		return fmt.Errorf("host %d: no timer", i)
	}
	return nil
}

func (h *host) working() bool { return h.claim.acting && !h.claim.frozen }

func (w *world) key() string {
	s := w.engine.key(w.now)
	for i := range w.hosts {
		h := w.hosts[i]
		rel := func(t time.Duration) time.Duration {
			if t == lease.Never {
				return t
			}
			return max(t-w.clock(i), -ttl)
		}
		s += fmt.Sprint(h.m.Key(), rel(h.timer), rel(h.base), h.doubt, h.fresh, h.claim.id, h.claim.wanted, h.claim.acting, h.claim.told, h.claim.killed, h.claim.gone, rel(h.claim.ready))
		for _, m := range h.mail {
			s += fmt.Sprint(m.cmd.Op, m.cmd.ID-h.m.LastID(), m.cmd.Claim, rel(m.sent), m.done, m.ghost, m.answer.Kind)
		}
	}
	return s + fmt.Sprint(w.broken)
}
