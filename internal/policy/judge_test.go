package policy_test

import (
	"errors"
	"fmt"

	"github.com/solehold/solehold/internal/policy"
)

// judge checks a command against all that may never happen, and writes it down.
func (w *world) judge(c policy.Command, in policy.Input) error {
	if w.over {
		return errors.New("a command after the end")
	}
	if w.begun == false && c.Op != policy.End {
		return errors.New("a command before the beginning")
	}
	if c.Op == policy.Probe || c.Op == policy.Start || c.Op == policy.TakeEvidence {
		if c.ID <= w.ids {
			return errors.New("an ID that was used before")
		}
		w.ids = c.ID
	}
	switch c.Op {
	case policy.Wake:
		if c.At < w.now || c.At == w.wake {
			return fmt.Errorf("at %v, when the timer is set to %v", w.now, w.wake)
		}
		w.wake = c.At
	case policy.Probe:
		return w.judgeProbe(c)
	case policy.Start:
		return w.judgeStart(c)
	case policy.TakeEvidence:
		return w.judgeEvidence(c)
	case policy.StopTree:
		return w.judgeStop(c, in)
	case policy.MarkUnhealthy, policy.MarkHealthy, policy.MarkReady:
		return w.judgeMark(c)
	case policy.End, policy.GiveUp:
		w.over = true
		w.givenUp = w.givenUp || c.Op == policy.GiveUp
		if w.cfg.Mode == policy.Run && w.life != 0 {
			return errors.New("an end while the tree may live")
		}
	}
	return nil
}

func (w *world) judgeProbe(c policy.Command) error {
	switch {
	case w.probe != 0:
		return errors.New("two rounds at once")
	case w.evidence != 0:
		return errors.New("a round while evidence is taken")
	case w.stopping:
		return errors.New("a round of what is being stopped")
	case w.cfg.Mode == policy.Run && !w.up:
		return errors.New("a round of what does not run")
	case w.cfg.Mode == policy.Run && w.cfg.HasStartup && !w.warm && c.Which == policy.Health:
		return errors.New("a health probe before the startup probe was good")
	}
	w.probe, w.which, w.probedAt, w.lock = c.ID, c.Which, w.now, policy.LockUnknown
	return nil
}

func (w *world) judgeStart(c policy.Command) error {
	watch := w.cfg.Mode == policy.Watch
	switch {
	case w.life != 0:
		return errors.New("a second start without an end between")
	case w.asked:
		return errors.New("a start after a stop was requested")
	case w.givenUp:
		return errors.New("a start after a give-up")
	case w.now < w.mayStartAt:
		return errors.New("a start within the backoff")
	case watch && w.known != policy.LockFree:
		return fmt.Errorf("a start when the lock was last seen %v", w.known)
	case watch && w.lock != policy.LockFree:
		return errors.New("a start on an old look at the lock")
	case watch && w.fails < w.enough():
		return errors.New("a start of what has not failed for long")
	case w.cfg.RestartMax > 0 && w.deaths > w.cfg.RestartMax:
		return errors.New("a start above the limit")
	}
	w.clean()
	w.life, w.up, w.warm, w.debt, w.marked = c.ID, false, false, 0, false
	if watch {
		w.mayStartAt = w.now + w.cfg.Backoff.Base
		w.good, w.lastGood = 0, policy.Never
		w.deaths++
	}
	return nil
}

func (w *world) judgeEvidence(c policy.Command) error {
	switch {
	case w.evidence != 0:
		return errors.New("two evidences at once")
	case w.took:
		return errors.New("a second evidence in one episode")
	}
	w.evidence, w.lastEvidence, w.took, w.evidenceOf = c.ID, c.ID, true, w.holder
	return w.judgeFailing()
}

// judgeFailing checks that the service has failed enough to be called unhealthy.
func (w *world) judgeFailing() error {
	switch {
	case !w.failed:
		return errors.New("no round has ever failed")
	case w.fails < w.schedule().FailureThreshold:
		return fmt.Errorf("only %d rounds have failed", w.fails)
	case w.debt > 0:
		return fmt.Errorf("%d more rounds must fail after the clock gap", w.debt)
	case w.cfg.HasStartup && !w.warm && w.which == policy.Health:
		return errors.New("it has not been asked the startup probe")
	case w.cfg.Mode == policy.Watch && w.lock != policy.LockHeld:
		return fmt.Errorf("the lock is %v", w.lock)
	}
	return nil
}

func (w *world) judgeStop(c policy.Command, in policy.Input) error {
	if w.stopping {
		return errors.New("a second stop")
	}
	w.stopping = true
	if w.cfg.Mode == policy.Run && c.ID != w.life {
		return errors.New("a stop of another life")
	}
	w.life, w.ids = c.ID, max(w.ids, c.ID)
	w.drop()
	if c.Cause != policy.BecauseUnhealthy {
		return nil
	}
	switch {
	case w.cfg.OnUnhealthy == policy.UnhealthyReport:
		return errors.New("a report kills")
	case w.evidence != 0 || !w.proved:
		return errors.New("a kill without evidence")
	case w.cfg.Mode == policy.Watch && w.evidenceOf != w.holder:
		return errors.New("a kill on the evidence about another holder")
	case w.cfg.Mode == policy.Watch && w.givenUp:
		return errors.New("a kill of what may not be started again")
	case in.Kind != policy.ProbeResult || in.Verdict != policy.Fail:
		return errors.New("a kill without a last look")
	case w.failing < w.cfg.MinFailing:
		return fmt.Errorf("it has failed for %v only", w.failing)
	}
	return w.judgeFailing()
}

func (w *world) judgeMark(c policy.Command) error {
	switch {
	case c.Op == policy.MarkReady && (w.cfg.Mode == policy.Watch || !w.up):
		return errors.New("nothing to be ready")
	case c.Op == policy.MarkReady:
		return nil
	case w.marked == (c.Op == policy.MarkUnhealthy):
		return errors.New("said twice")
	}
	w.marked = c.Op == policy.MarkUnhealthy
	if w.marked {
		return w.judgeFailing()
	}
	return nil
}

// stuck checks that something can still move the machine: its timer, or an answer that the shell owes.
func (w *world) stuck() error {
	timer := w.wake != policy.Never
	var ok bool
	switch w.m.State() {
	case policy.Idle, policy.GivenUp, policy.Ended:
		ok = true
	case policy.Waiting:
		ok = timer
	case policy.Starting, policy.Ready, policy.Unhealthy, policy.Probing:
		child := w.life != 0 && (!w.up || !w.cfg.HasHealth)
		ok = w.evidence != 0 || child || timer
	case policy.Stopping:
		ok = w.life != 0
	}
	if !ok {
		return fmt.Errorf("stuck in %v: no timer and no answer is owed", w.m.State())
	}
	return nil
}

// enough is how many rounds must fail before a start: one where a watch decides
// once.
func (w *world) enough() int {
	if w.cfg.Once {
		return 1
	}
	return w.cfg.Health.FailureThreshold
}
