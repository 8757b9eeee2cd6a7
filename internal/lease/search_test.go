package lease_test

import (
	"errors"
	"flag"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/lease"
)

var states = flag.Int("states", max(800, int(30_000*soak()/2)), "how many states each search sees")

// start is where a search begins, and what can happen in it.
type start struct {
	before   string // acts, by name
	families string
}

// searches gives the starts. Each has few kinds of trouble, so that a bounded search gets deep.
func searches() map[string]start {
	owned := "acquire 0, trip 0"
	return map[string]start{
		"claim":     {"", "late lost cancel"},
		"ghost":     {"", "ghost cancel"},
		"partition": {owned + ", acquire 1, trip 1", "late lost"},
		"late":      {owned + ", wait, wait, wait", "late"},
		"leave":     {owned, "leave lost"},
		"break":     {owned, "break revoke"},
		"unseen":    {owned, "unseen"},
		"unclean":   {owned + ", break 0, stopped 0", "cancel tick"},
		"pause":     {owned, "pause late"},
		"data":      {owned, "data"},
		"delayed":   {owned + ", break 0, stopped 0, wait, wait, wait, acquire 1", ""},
	}
}

// world makes the world of a search, with one guard out.
func (s start) world(out lease.Guard) (*world, error) {
	w, err := newWorld(out)
	if err != nil {
		return nil, err
	}
	if err := w.open(); err != nil || s.before == "" {
		return w, err
	}
	all := acts("late", "lost", "ghost", "cancel", "leave", "tick", "break", "unseen", "revoke", "pause", "data")
	for name := range strings.SplitSeq(s.before, ", ") {
		k := slices.IndexFunc(all, func(a act) bool { return a.name == name })
		if k < 0 {
			return nil, errors.New("no act " + name)
		}
		if _, err := all[k].do(w); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// searched is what a search found.
type searched struct {
	nodes int
	depth int   // to which every order was tried
	whole bool  // there are no more states
	found error // the first thing that may not happen, with the way to it
}

// place is a world that was reached.
type place struct {
	w   *world
	way []string
}

// search tries all orders of everything that can happen, until it has seen so many states or all of them.
func (s start) search(out lease.Guard, most int) searched {
	w, err := s.world(out)
	if err != nil {
		return searched{found: err}
	}
	seed, seen := maphash.MakeSeed(), map[uint64]bool{}
	all := acts(strings.Fields(s.families)...)
	level := []place{{w, nil}}
	for depth := 0; ; depth++ {
		var next []place
		for _, p := range level {
			for _, a := range all {
				c := p.w.clone()
				ok, err := a.do(c)
				way := append(slices.Clip(p.way), a.name)
				if err == nil && !ok {
					continue
				}
				k := maphash.String(seed, c.key())
				if err == nil && seen[k] {
					continue
				}
				seen[k] = true
				if err == nil {
					err = c.settles()
				}
				if err != nil {
					return searched{len(seen), depth, false, fmt.Errorf("%w\nafter: %s", err, strings.Join(way, ", "))}
				}
				next = append(next, place{c, way})
			}
			if len(seen) >= most {
				return searched{len(seen), depth, false, nil}
			}
		}
		if level = next; len(level) == 0 {
			return searched{len(seen), depth, true, nil}
		}
	}
}

// settles checks that from here on, if all goes well and nobody wants the lock any more, it is free in the end; and that
// an owner whose claim is gone was told.
func (w *world) settles() error {
	c := w.clone()
	for range 60 {
		for i := range c.hosts {
			if err := c.mend(i); err != nil {
				return fmt.Errorf("when all goes well: %w", err)
			}
		}
		if err := c.wait(); err != nil {
			return fmt.Errorf("when all goes well: %w", err)
		}
	}
	for i := range c.hosts {
		if c.hosts[i].claim.acting {
			return fmt.Errorf("host %d works for ever", i)
		}
		if c.hosts[i].m.State() == lease.Over {
			return fmt.Errorf("the lease of host %d never ends", i)
		}
	}
	if c.engine.owner >= 0 {
		return fmt.Errorf("nobody wants the lock, and host %d has it for ever", c.engine.owner)
	}
	return nil
}

// mend lets things go well: messages arrive, what is told ends, what is wanted is cancelled, and an owner goes on for as
// long as its claim is there.
func (w *world) mend(i int) error {
	h := &w.hosts[i]
	for len(h.mail) > 0 {
		if _, err := w.trip(i, 0); err != nil {
			return err
		}
	}
	switch t := &h.claim; {
	case !t.acting && h.m.State() == lease.Over: // a shell that had to end itself and did not
		return w.give(i, lease.Input{Kind: lease.Stopped, Claim: t.id})
	case t.acting && (t.told || w.engine.owner == i):
		return w.give(i, lease.Input{Kind: lease.Stopped, Claim: t.id})
	case t.wanted && !t.acting:
		return w.give(i, lease.Input{Kind: lease.Cancel, Claim: t.id})
	}
	return nil
}

// TestSearch tries all orders of what can happen, checks every command, and lets things go well from every state.
func TestSearch(t *testing.T) {
	for name, s := range searches() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			got := s.search(0, *states)
			if got.found != nil {
				t.Fatal(got.found)
			}
			t.Logf("%d states, all to depth %d, whole %v, in %v", got.nodes, got.depth, got.whole, time.Since(begin).Round(time.Millisecond))
		})
	}
}
