package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/policy"
)

// start is where a search begins.
type start struct {
	cfg  policy.Config
	acts string // done before, by name
}

// world makes the world of a search, with one guard out.
func (s start) world(out policy.Guard) (*world, error) {
	w, err := newWorld(s.cfg, out, policy.Memory{})
	for name := range strings.SplitSeq(s.acts, ", ") {
		for _, a := range acts(s.cfg.Mode) {
			if err == nil && a.name == name {
				err = a.do(w)
			}
		}
	}
	return w, err
}

// searches gives the configurations that are searched. All times are small, so that few steps reach everything. Where
// the states are many, a second search begins shortly before a kill.
func searches() map[string]start {
	probe := policy.Schedule{Period: time.Second, Timeout: time.Second, FailureThreshold: 2}
	run := policy.Config{
		HasHealth: true, Health: probe, Startup: probe, MinFailing: 2 * time.Second, RoundsAfterGap: 3,
		Restart: policy.RestartAlways, RestartMax: 2, Backoff: policy.Backoff{Base: time.Second, Cap: 4 * time.Second},
		Rearm: time.Hour, StableAfter: 2 * time.Second, HalfLife: time.Hour,
	}
	watch := run
	watch.Mode = policy.Watch
	all := map[string]start{"run": {run, ""}, "watch": {watch, ""}}
	with := func(name string, c policy.Config, change func(*policy.Config)) {
		change(&c)
		all[name] = start{c, ""}
	}
	report := func(c *policy.Config) { c.OnUnhealthy = policy.UnhealthyReport }
	with("run report", run, report)
	with("watch report", watch, report)
	with("run startup", run, func(c *policy.Config) { c.HasStartup = true })
	with("run startup only", run, func(c *policy.Config) { c.HasStartup, c.HasHealth = true, false })
	with("watch startup", watch, func(c *policy.Config) { c.HasStartup = true })
	with("watch once", watch, func(c *policy.Config) { c.Once = true })
	all["run sick"] = start{run, "begin, started, probe fail, wake, probe fail"}
	all["watch sick"] = start{watch, "begin, lock held 1, probe fail, wake, lock held 1, probe fail"}
	slow := watch
	slow.Backoff.Base = 3 * time.Second // longer than it takes to see a failure
	all["watch down"] = start{slow, "begin, lock free 0, probe fail, wake, lock free 0, probe fail, started"}
	with("run bare", run, func(c *policy.Config) { c.HasHealth, c.AwaitReady = false, true })
	return all
}

// TestSearch tries all orders of inputs, checks every command, and lets things go well again from every state.
func TestSearch(t *testing.T) {
	for name, s := range searches() {
		t.Run(name, func(t *testing.T) {
			w, err := s.world(0)
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			got := search(w, *states, settles)
			if got.found != nil {
				t.Fatal(got.found)
			}
			t.Logf("%d states, all to depth %d, whole %v, in %v", got.nodes, got.depth, got.whole, time.Since(begin).Round(time.Millisecond))
		})
	}
}

// settles checks that a world in which all goes well from now on comes to rest: serving, or at an end.
func settles(w *world) error {
	c := *w
	for range 60 {
		if c.atRest() {
			return nil
		}
		if _, err := c.step(c.mend()); err != nil {
			return fmt.Errorf("when all goes well: %w", err)
		}
	}
	return errors.New("it does not settle when all goes well, but stays " + c.m.State().String())
}

// atRest reports whether nothing is left to be done.
func (w *world) atRest() bool {
	switch w.m.State() {
	case policy.Ended, policy.GivenUp:
		return true
	case policy.Ready:
		return !w.marked && w.evidence == 0
	case policy.Probing:
		return w.begun && !w.marked && w.fails == 0 && w.life == 0 && w.probe == 0 && w.evidence == 0 && (w.held || w.givenUp)
	}
	return false
}

// mend gives the next thing that happens when all goes well: what was stopped ends, what is free is down until it is
// started, and then serves.
func (w *world) mend() (time.Duration, policy.Input) {
	switch {
	case !w.begun:
		return w.now, policy.Input{Kind: policy.Begin}
	case w.evidence != 0:
		return w.now, policy.Input{Kind: policy.EvidenceDone, For: w.evidence}
	case w.stopping:
		w.held = false
		return w.now, policy.Input{Kind: policy.Exited, For: w.life, TreeDead: true}
	case w.life != 0 && !w.up && w.m.State() == policy.Starting:
		if w.cfg.Mode == policy.Run && w.cfg.AwaitReady {
			return w.now, policy.Input{Kind: policy.ChildReady, For: w.life}
		}
		w.held = w.cfg.Mode == policy.Watch
		return w.now, policy.Input{Kind: policy.ChildStarted, For: w.life}
	case w.life != 0 && w.m.State() == policy.Starting && !w.cfg.HasHealth && w.cfg.AwaitReady:
		return w.now, policy.Input{Kind: policy.ChildReady, For: w.life}
	case w.probe != 0 && w.cfg.Mode == policy.Watch && w.lock == policy.LockUnknown:
		if w.held {
			return w.now, policy.Input{Kind: policy.LockState, Lock: policy.LockHeld, Holder: w.holder}
		}
		return w.now, policy.Input{Kind: policy.LockState, Lock: policy.LockFree}
	case w.probe != 0 && w.cfg.Mode == policy.Watch && !w.held && !w.givenUp:
		return w.now, result(w.probe, policy.Fail)
	case w.probe != 0:
		return w.now, result(w.probe, policy.OK)
	}
	return max(w.wake, w.now), policy.Input{Kind: policy.Tick}
}
