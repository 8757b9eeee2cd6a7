package lease_test

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/lease"
)

// stickyAct is one thing that can happen. It reports whether it could.
type stickyAct struct {
	name string
	do   func(w *stickyWorld) (bool, error)
}

// stickyActs gives everything that can happen.
func stickyActs() []stickyAct {
	all := []stickyAct{
		{"wait", func(w *stickyWorld) (bool, error) { return true, w.wait() }},
		{"break", func(w *stickyWorld) (bool, error) { return w.breaks < 2, w.breakClaim() }},
		{"copy to another machine", func(w *stickyWorld) (bool, error) { return w.copyTo("m9", "b9", "d") }},
		{"copy the machine", func(w *stickyWorld) (bool, error) { return w.copyTo("m0", "b9", "d") }},
		{"copy in the same boot", func(w *stickyWorld) (bool, error) { return w.copyTo("m0", w.hosts[0].boot, "d9") }},
	}
	for i := range 3 {
		add := func(name string, do func(w *stickyWorld) (bool, error)) {
			all = append(all, stickyAct{fmt.Sprintf("%s %d", name, i), do})
		}
		add("start", func(w *stickyWorld) (bool, error) { return w.start(i) })
		add("trip", func(w *stickyWorld) (bool, error) { return w.trip(i, true) })
		add("arrive", func(w *stickyWorld) (bool, error) { return w.trip(i, false) })
		add("lose", func(w *stickyWorld) (bool, error) {
			if len(w.hosts[i].mail) == 0 {
				return false, nil
			}
			return true, w.lose(i)
		})
		add("end", func(w *stickyWorld) (bool, error) {
			if !w.hosts[i].works {
				return false, nil
			}
			w.hosts[i].works = false
			return true, w.give(i, lease.Input{Kind: lease.Stopped})
		})
		add("crash", func(w *stickyWorld) (bool, error) { return w.crash(i, false) })
		add("reboot", func(w *stickyWorld) (bool, error) { return w.crash(i, true) })
	}
	return all
}

// wait lets time pass to the next thing that happens by itself: a timer, or a request that is given up.
func (w *stickyWorld) wait() error {
	at := lease.Never
	for i := range w.hosts {
		at = min(at, w.hosts[i].timer)
		for _, m := range w.hosts[i].mail {
			at = min(at, m.at+4*unit)
		}
	}
	if at == lease.Never {
		return nil
	}
	w.now = max(w.now, at)
	for i := range w.hosts {
		h := &w.hosts[i]
		for len(h.mail) > 0 && h.mail[0].at+4*unit <= w.now {
			if err := w.lose(i); err != nil {
				return err
			}
		}
		if h.run != nil && h.timer <= w.now {
			if err := w.give(i, lease.Input{Kind: lease.Tick}); err != nil {
				return err
			}
		}
	}
	return nil
}

// breakClaim is an operator, who may be wrong about the holder.
func (w *stickyWorld) breakClaim() error {
	if w.engine.held {
		w.breaks++
		w.engine.held = false
	}
	return nil
}

// copyTo copies the disk of the first host.
func (w *stickyWorld) copyTo(machine, boot, dir string) (bool, error) {
	h, from := &w.hosts[2], &w.hosts[0]
	if h.run != nil || w.copies > 0 || from.disk.Nonce == "" {
		return false, nil
	}
	w.copies++
	h.machine, h.boot, h.dir, h.disk, h.floor = machine, boot, dir, from.disk, from.floor
	h.disk.Places = slices.Clone(from.disk.Places)
	return true, nil
}

// crash ends a run with all that works under it, and the boot with it.
func (w *stickyWorld) crash(i int, boot bool) (bool, error) {
	h := &w.hosts[i]
	if h.run == nil && (!boot || h.disk.Nonce == "" || w.boots > 5) {
		return false, nil
	}
	old, now := h.boot, h.boot
	if boot {
		if w.boots > 5 {
			return false, nil
		}
		now = fmt.Sprint("b", w.boots)
		w.boots++
	}
	for k := range w.hosts {
		if h := &w.hosts[k]; k == i || boot && h.boot == old {
			h.run, h.mail, h.timer, h.works, h.boot = nil, nil, lease.Never, false, now
		}
	}
	return true, nil
}

// settles lets all messages arrive: then one owner is left at most, whatever was before, and nobody waits for ever.
func (w *stickyWorld) settles() error {
	c := w.clone()
	c.excuse = true // it ends now
	for range 40 {
		for i := range c.hosts {
			for len(c.hosts[i].mail) > 0 {
				if _, err := c.trip(i, true); err != nil {
					return err
				}
			}
		}
		if err := c.wait(); err != nil {
			return err
		}
	}
	c.excuse = false
	if err := c.check(); err != nil {
		return fmt.Errorf("for ever: %w", err)
	}
	for i := range c.hosts {
		if h := &c.hosts[i]; h.run != nil && !h.works {
			return fmt.Errorf("host %d waits for ever", i)
		}
	}
	return nil
}

// stickySearch tries all orders of what can happen from a beginning.
func stickySearch(out stickyOut, before string, most int) searched {
	all := stickyActs()
	w := newStickyWorld(out)
	for name := range strings.SplitSeq(before, ", ") {
		k := slices.IndexFunc(all, func(a stickyAct) bool { return a.name == name })
		if k < 0 {
			return searched{found: errors.New("no act " + name)}
		}
		if _, err := all[k].do(w); err != nil {
			return searched{found: err}
		}
	}
	type place struct {
		w   *stickyWorld
		way []string
	}
	seed, seen := maphash.MakeSeed(), map[uint64]bool{}
	level := []place{{w, nil}}
	for depth := 0; ; depth++ {
		var next []place
		for _, p := range level {
			for _, a := range all {
				c := p.w.clone()
				ok, err := a.do(c)
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
				way := append(slices.Clip(p.way), a.name)
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

// stickyStarts are where searches begin.
func stickyStarts() map[string]string {
	const owned = "start 0, trip 0"
	return map[string]string{
		"new":       "start 0",
		"owned":     owned,
		"asked":     "start 0, arrive 0, crash 0",
		"broken":    owned + ", break, start 1, trip 1",
		"copied":    owned + ", copy the machine, start 2",
		"reboot":    owned + ", reboot 0, start 0",
		"told":      owned + ", break, wait, trip 0, end 0, start 1, trip 1, trip 1" + strings.Repeat(", wait", 20) + ", start 0",
		"elsewhere": owned + ", copy to another machine, copy in the same boot",
		"twin":      owned + ", copy in the same boot",
		"healing":   owned + ", copy the machine, start 2, wait, wait, wait, wait, wait, wait",
	}
}

// TestStickySearch finds no two owners but those that a wrong break or a copied machine makes, and none of them for ever.
func TestStickySearch(t *testing.T) {
	for name, before := range stickyStarts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			got := stickySearch(stickyOut{}, before, *states)
			if got.found != nil {
				t.Fatal(got.found)
			}
			t.Logf("%d states, all to depth %d, whole %v, in %v", got.nodes, got.depth, got.whole, time.Since(begin).Round(time.Millisecond))
		})
	}
}
