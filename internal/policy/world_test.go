package policy_test

import (
	"fmt"
	"time"

	"github.com/solehold/solehold/internal/policy"
)

// world is a machine and what an onlooker knows of it: only inputs and commands, never the machine's own fields.
type world struct {
	m   policy.Machine
	cfg policy.Config
	book
}

// book is the onlooker's account. It can be compared.
type book struct {
	now            time.Duration
	begun, over    bool
	asked          bool          // a stop was requested
	wake           time.Duration // what the timer is set to
	ids            uint64
	probe, old     uint64 // the round awaited, and an older one
	which          policy.Which
	probedAt       time.Duration
	evidence       uint64 // the one that is owed
	lastEvidence   uint64
	life, lastLife uint64 // a child, or a launch or stop of a watch, whose end is owed
	up, warm       bool
	upAt           time.Duration
	stopping       bool
	lock           policy.Lock // in this round
	known          policy.Lock // the last one
	held           bool
	holder         uint64
	evidenceOf     uint64 // its holder
	proved         bool   // evidence is done since the last good round, start or change of holder
	took           bool   // or was asked for
	marked         bool
	givenUp        bool
	failed         bool          // some round has failed
	fails          int           // since the last good round, start, gap or change of holder
	failing        time.Duration // in which nothing but failing rounds was seen
	lastFail       time.Duration
	debt           int // rounds that must fail since a gap
	deaths         int // ends without a good round in between
	mayStartAt     time.Duration
	good           time.Duration // of running since the last start, end or give-up
	lastGood       time.Duration // never if another round followed
}

// newWorld makes a machine of which one guard may be out.
func newWorld(cfg policy.Config, out policy.Guard, mem policy.Memory) (*world, error) {
	m, err := policy.New(cfg, mem, time.Hour)
	if err != nil {
		return nil, err
	}
	m.Without(out)
	w := &world{m: *m, cfg: cfg}
	w.now, w.wake, w.lastFail, w.lastGood, w.givenUp = time.Hour, policy.Never, policy.Never, policy.Never, mem.GivenUp
	return w, nil
}

// step gives an input and judges the commands.
func (w *world) step(now time.Duration, in policy.Input) ([]policy.Command, error) {
	w.now = max(w.now, now)
	w.overdue()
	w.see(in)
	out := w.m.Step(now, in)
	for i, c := range out {
		if err := w.judge(c, in); err != nil {
			return out, fmt.Errorf("%v: %w", c, err)
		}
		if c.Op == policy.Wake && i != len(out)-1 {
			return out, fmt.Errorf("%v: a wake that is not the last command", c)
		}
	}
	return out, w.stuck()
}

// overdue takes a round that should have been long ago for a clock gap.
func (w *world) overdue() {
	s := w.m.State()
	rounds := s == policy.Probing || w.cfg.Mode == policy.Watch && s == policy.Unhealthy || w.up && !w.stopping
	if rounds && w.probe == 0 && w.evidence == 0 && w.wake != policy.Never && w.now > w.wake+w.cfg.Health.Period {
		w.gap()
	}
}

func (w *world) gap() {
	w.fails, w.failing, w.lastFail, w.lastGood, w.debt = 0, 0, policy.Never, policy.Never, w.cfg.RoundsAfterGap
	w.drop()
}

// see writes an input down.
func (w *world) see(in policy.Input) {
	switch in.Kind {
	case policy.Begin:
		w.begun = true
	case policy.LockState:
		w.seeLock(in)
	case policy.ProbeResult:
		w.seeResult(in)
	case policy.ChildStarted, policy.ChildReady:
		w.seeStarted(in)
	case policy.Exited:
		w.seeExit(in)
	case policy.EvidenceDone:
		if in.For == w.evidence && in.For != 0 {
			w.proved = w.took && w.evidence == w.lastEvidence
			w.evidence = 0
		}
	case policy.StopRequested:
		w.asked = true
	case policy.ClockGap:
		if !w.over {
			w.gap()
		}
	case policy.Tick:
		w.wake = policy.Never
		if w.probe != 0 && w.now >= w.probedAt+w.schedule().Timeout+w.schedule().Period {
			w.drop()
			w.lastFail, w.lastGood = policy.Never, policy.Never
		}
	case policy.Reset:
		w.seeReset()
	}
}

func (w *world) seeReset() {
	w.mayStartAt, w.deaths, w.givenUp = 0, 0, false
	if w.over && w.m.State() == policy.GivenUp {
		w.over, w.begun, w.asked = false, false, false
		w.clean()
		w.marked = false
	}
}

// drop ends a round without a result.
func (w *world) drop() {
	if w.probe != 0 {
		w.old, w.probe = w.probe, 0
	}
}

func (w *world) schedule() policy.Schedule {
	if w.which == policy.Startup {
		return w.cfg.Startup
	}
	return w.cfg.Health
}

// clean forgets what was failing.
func (w *world) clean() {
	w.fails, w.failing, w.lastFail = 0, 0, policy.Never
	w.proved, w.took = false, false
}

func (w *world) seeLock(in policy.Input) {
	if w.cfg.Mode == policy.Run {
		return
	}
	w.lock, w.known = in.Lock, in.Lock
	if in.GivenUp && !w.givenUp {
		w.givenUp, w.good, w.lastGood = true, 0, policy.Never
	}
	switch in.Lock {
	case policy.LockFree:
		w.held = false
	case policy.LockHeld:
		if !w.held || in.Holder != w.holder {
			w.clean()
			w.warm = false
		}
		w.held, w.holder = true, in.Holder
	}
}

func (w *world) seeResult(in policy.Input) {
	if in.For != w.probe || w.probe == 0 {
		return
	}
	verdict := in.Verdict
	if w.now > w.probedAt+w.schedule().Timeout+w.schedule().Period {
		verdict = policy.Unknown
	}
	w.drop()
	switch verdict {
	case policy.Unknown:
		w.lastFail, w.lastGood = policy.Never, policy.Never
	case policy.Fail:
		if w.fails++; w.lastFail != policy.Never {
			w.failing += w.now - w.lastFail
		}
		w.failed, w.lastFail, w.lastGood, w.debt = true, w.now, policy.Never, max(0, w.debt-1)
	default:
		w.warm, w.debt = true, 0
		w.clean()
		w.serves()
	}
}

// serves takes note of good running, and forgives after enough of it.
func (w *world) serves() {
	if w.lastGood != policy.Never {
		w.good = min(w.good+w.now-w.lastGood, w.cfg.StableAfter)
	}
	w.lastGood = w.now
	if w.good >= w.cfg.StableAfter {
		w.deaths, w.mayStartAt, w.givenUp = 0, 0, false
	}
}

func (w *world) seeStarted(in policy.Input) {
	if in.For != w.life || w.life == 0 || w.stopping {
		return
	}
	if w.cfg.Mode == policy.Watch {
		if in.Kind == policy.ChildStarted {
			w.lastLife, w.life = w.life, 0
		}
		return
	}
	if !w.up {
		w.up, w.upAt = true, w.now
	}
}

func (w *world) seeExit(in policy.Input) {
	launch := w.cfg.Mode == policy.Watch && !w.stopping
	if in.For != w.life || w.life == 0 || !in.TreeDead && !launch {
		return
	}
	wasUp := w.up
	w.lastLife, w.life, w.up, w.stopping, w.marked = w.life, 0, false, false, false
	w.drop()
	w.proved, w.took = false, false
	if w.cfg.Mode == policy.Run {
		if wasUp && !w.cfg.HasHealth && w.now-w.upAt >= w.cfg.StableAfter {
			w.deaths, w.mayStartAt = 0, 0
		}
		w.deaths++
		w.good, w.lastGood = 0, policy.Never
		w.mayStartAt = w.now + w.cfg.Backoff.Base
	}
}
