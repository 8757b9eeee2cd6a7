package lease_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/solehold/solehold/internal/lease"
)

// act is one thing that can happen in a world. It reports whether it could.
type act struct {
	name string
	do   func(w *world) (bool, error)
}

// most is how many messages of a host can be on their way; ghosts come within so much time or never.
const (
	most     = 4
	lingerAt = 4 * unit
)

// acts gives everything that can happen, by the words of a search.
func acts(families ...string) []act {
	all := []act{{"wait", func(w *world) (bool, error) { return true, w.wait() }}}
	has := func(s string) bool { return slices.Contains(families, s) }
	for i := range 2 {
		add := func(on bool, name string, do func(w *world) (bool, error)) {
			if on {
				all = append(all, act{fmt.Sprintf("%s %d", name, i), do})
			}
		}
		add(true, "trip", func(w *world) (bool, error) { return w.trip(i, 0) })
		add(true, "acquire", func(w *world) (bool, error) { return w.acquire(i) })
		add(true, "stopped", func(w *world) (bool, error) {
			ok := w.hosts[i].claim.acting
			return ok, w.give(i, lease.Input{Kind: lease.Stopped, Claim: w.hosts[i].claim.id})
		})
		add(has("late"), "handle", func(w *world) (bool, error) { return w.handle(i) })
		add(has("late"), "newest", func(w *world) (bool, error) { return w.trip(i, len(w.hosts[i].mail)-1) })
		add(has("lost"), "lose", func(w *world) (bool, error) { return w.lose(i, false) })
		add(has("ghost"), "ghost", func(w *world) (bool, error) { return w.lose(i, true) })
		add(has("cancel"), "cancel", func(w *world) (bool, error) {
			c := w.hosts[i].claim
			return c.wanted && !c.acting, w.give(i, lease.Input{Kind: lease.Cancel, Claim: c.id})
		})
		add(has("leave"), "leave", func(w *world) (bool, error) { return true, w.give(i, lease.Input{Kind: lease.Leave}) })
		add(has("tick"), "tick", func(w *world) (bool, error) { return true, w.give(i, lease.Input{Kind: lease.Tick}) })
		add(has("break"), "break", func(w *world) (bool, error) { return w.breakClaim(i, true) })
		add(has("unseen"), "break unseen", func(w *world) (bool, error) { return w.breakClaim(i, false) })
		add(has("revoke"), "revoke early", func(w *world) (bool, error) { return w.revokeEarly(i) })
		add(has("data") && i == 0, "lose data", func(w *world) (bool, error) {
			w.engine.reset()
			w.broken = true // a store that loses its data excludes nobody
			return true, nil
		})
		add(has("pause"), "pause", func(w *world) (bool, error) { return w.pause(i, 14*unit) })
	}
	return all
}

// open begins both leases.
func (w *world) open() error {
	for i := range w.hosts {
		if err := w.give(i, lease.Input{Kind: lease.Open}); err != nil {
			return err
		}
		if _, err := w.trip(i, 0); err != nil {
			return err
		}
	}
	return nil
}

// wait lets time pass to the next thing that happens by itself.
func (w *world) wait() error {
	at := w.now + lingerAt
	for i := range w.hosts {
		if h := &w.hosts[i]; h.timer != lease.Never {
			at = min(at, h.timer+h.behind)
		}
		if x := w.engine.expires[i]; x > w.now {
			at = min(at, x)
		}
	}
	return w.pass(max(at, w.now))
}

// pass lets time pass, with all ticks at their times before the engine acts: shells are punctual.
func (w *world) pass(to time.Duration) error {
	w.now = to
	for i := range w.hosts {
		h := &w.hosts[i]
		if h.timer != lease.Never && h.timer <= w.clock(i) {
			if err := w.give(i, lease.Input{Kind: lease.Tick}); err != nil {
				return err
			}
		}
		if err := w.losses(i); err != nil {
			return err
		}
	}
	w.engine.expire(w.now)
	return nil
}

// losses drops what has been on its way for too long, and what is too much. A request for a claim arrives within a fifth
// of the time to live or never: the shell gives it up before.
func (w *world) losses(i int) error {
	h := &w.hosts[i]
	old := func(m message) bool {
		return (m.ghost || m.cmd.Op == lease.Ask && !m.done) && w.clock(i) >= m.sent+lingerAt
	}
	for k := slices.IndexFunc(h.mail, old); k >= 0 || len(h.mail) > most; k = slices.IndexFunc(h.mail, old) {
		m := h.mail[max(k, 0)]
		h.mail = slices.Delete(h.mail, max(k, 0), max(k, 0)+1)
		if m.ghost {
			continue
		}
		if err := w.give(i, lease.Input{Kind: lease.Failed, For: m.cmd.ID}); err != nil {
			return err
		}
	}
	return nil
}

// acquire takes on a new claim when the one before is done.
func (w *world) acquire(i int) (bool, error) {
	h := &w.hosts[i]
	if h.claim.wanted || h.claims >= 3 {
		return false, nil
	}
	h.claims++
	h.claim = tenure{id: h.claims, wanted: true}
	return true, w.give(i, lease.Input{Kind: lease.Acquire, Claim: h.claims, Floor: w.tokens})
}

// trip brings a message to the engine, and its answer back.
func (w *world) trip(i, k int) (bool, error) {
	h := &w.hosts[i]
	if k < 0 || k >= len(h.mail) {
		return false, nil
	}
	m := h.mail[k]
	h.mail = slices.Delete(h.mail, k, k+1)
	if !m.done {
		m.answer = w.engine.handle(i, m.cmd, w.now)
	}
	if m.ghost {
		return true, nil
	}
	h.sentAt(m)
	if m.cmd.Op == lease.Verify && m.answer.Kind == lease.ClaimGone {
		m.answer.Claim, m.answer.Token = h.claim.id, h.m.TokenOf(h.claim.id)
	}
	return true, w.give(i, m.answer)
}

// handle lets the engine handle the oldest message; its answer stays on the way.
func (w *world) handle(i int) (bool, error) {
	for k, m := range w.hosts[i].mail {
		if !m.done {
			m.answer = w.engine.handle(i, m.cmd, w.now)
			m.done = true
			w.hosts[i].mail[k] = m
			return true, nil
		}
	}
	return false, nil
}

// lose makes the oldest message fail. As a ghost its request may still arrive.
func (w *world) lose(i int, ghost bool) (bool, error) {
	h := &w.hosts[i]
	k := slices.IndexFunc(h.mail, func(m message) bool { return !m.ghost && (!ghost || !m.done) })
	if k < 0 {
		return false, nil
	}
	m := h.mail[k]
	h.mail = slices.Delete(h.mail, k, k+1)
	if ghost {
		m.ghost = true
		h.mail = append(h.mail, m)
	}
	return true, w.give(i, lease.Input{Kind: lease.Failed, For: m.cmd.ID})
}

// breakClaim deletes the claim of a host, which hears of it at once or not.
func (w *world) breakClaim(i int, pushed bool) (bool, error) {
	h := &w.hosts[i]
	if w.engine.owner != i || !h.claim.acting || h.claim.told {
		return false, nil
	}
	token := w.engine.token
	w.engine.owner, w.engine.token = -1, 0
	if !pushed {
		w.broken = true
		return true, nil
	}
	return true, w.give(i, lease.Input{Kind: lease.ClaimGone, Claim: h.claim.id, Token: token})
}

// revokeEarly is an engine that does not keep its word, and says so.
func (w *world) revokeEarly(i int) (bool, error) {
	if w.engine.expires[i] == 0 {
		return false, nil
	}
	w.engine.drop(i)
	return true, w.give(i, lease.Input{Kind: lease.LeaseGone})
}

// pause stops a host with its clock, as a virtual machine is paused. Time goes on elsewhere.
func (w *world) pause(i int, d time.Duration) (bool, error) {
	if w.hosts[i].behind > 0 || w.hosts[i].m.State() != lease.Live {
		return false, nil
	}
	frozen := w.hosts[i].claim.frozen
	w.hosts[i].claim.frozen = true // it does not work while it is paused
	end := w.now + d
	for rounds := 0; w.now < end; rounds++ {
		if rounds > 100 {
			return true, errors.New("a timer that is never set ahead")
		}
		other := 1 - i
		at := end
		if h := &w.hosts[other]; h.timer != lease.Never {
			at = min(at, max(h.timer+h.behind, w.now))
		}
		w.hosts[i].behind += at - w.now
		if err := w.pass(at); err != nil {
			return true, err
		}
		if at == w.now && at < end {
			if _, err := w.trip(other, 0); err != nil {
				return true, err
			}
		}
	}
	w.hosts[i].claim.frozen = frozen
	return true, w.give(i, lease.Input{Kind: lease.Doubt})
}
