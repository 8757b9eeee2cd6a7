package lease

import (
	"fmt"
	"time"
)

// StickyConfig is what a claim without a lease is told once.
type StickyConfig struct {
	// TTL is what its times are parts of: it looks at the engine each TTL/5, and each TTL/10 while that is silent.
	TTL time.Duration
	// Grace is as in [Config].
	Grace time.Duration
	// Delay is the lock-delay, at least TTL: who can reach the engine is told of a break within 0.50 TTL, killed by 0.70 and
	// seen dead by 0.80. Default TTL.
	Delay time.Duration
	// Limit is how long the engine may be silent at the start; 0 is without limit.
	Limit time.Duration
	// Token is that of a claim which was ours in an earlier start; 0 for one that is not known to be ours.
	Token uint64
	// Settled says that nobody can have had that claim but this place: see [Kept.Settled]. Else it is waited for.
	Settled bool
	// Away says that the work may begin when the limit has passed in silence. It needs a Token.
	Away bool
	// Floor is what the token of a new claim must be above.
	Floor uint64
}

// Complete checks c and fills in the defaults.
func (c StickyConfig) Complete() (StickyConfig, error) {
	if c.Delay == 0 {
		c.Delay = c.TTL
	}
	if err := (Config{TTL: c.TTL, Grace: c.Grace}).check(); err != nil {
		return c, err
	}
	if c.Delay < c.TTL || c.Limit < 0 {
		return c, fmt.Errorf("%w: the lock-delay of a sticky claim is at least its ttl of %v", ErrConfig, c.TTL)
	}
	return c, nil
}

// Sticky is one claim without a lease: nobody has it but who made it, until an operator breaks it. So its owner works on
// while the engine is silent, and has no deadlines; it is told when the engine says that the claim is gone. The same
// commands and answers as those of a [Machine] are used, with these differences: [Ask] makes the claim, [Verify] looks
// whether it is ours and takes it on for this place, and [Release] writes down that the work has ended, or, with a cause,
// removes a claim that was never worked under. It is for one goroutine.
type Sticky struct {
	cfg     StickyConfig
	times   Times
	without stickyGuard // for tests
	out     []Command
	stickySituation
}

// stickySituation is all that changes from step to step.
type stickySituation struct {
	now, wake time.Duration
	state     ClaimState
	token     uint64
	ids       uint64
	asked     sent
	due       time.Duration // of the next request
	began     time.Duration // from when the limit counts
	end       time.Duration // of the delay
	looked    bool          // the engine has said that the claim is ours, here
	kill      time.Duration // never once that was done
	stop      time.Duration // never once that was done
}

// NewSticky makes a claim that awaits [Open]. Errors wrap [ErrConfig].
func NewSticky(c StickyConfig, now time.Duration) (*Sticky, error) {
	c, err := c.Complete()
	if err != nil {
		return nil, err
	}
	s := &Sticky{cfg: c, times: TimesOf(c.TTL)}
	s.now, s.wake, s.due, s.end, s.kill, s.stop = now, never, never, never, never, never
	s.token = c.Token
	return s, nil
}

// Token is the claim's, 0 before there is one.
func (s *Sticky) Token() uint64 { return s.token }

// Ended reports whether nothing more is to be done.
func (s *Sticky) Ended() bool { return s.state == dropped }

// Looked reports whether the engine has said, in this start, that the claim is ours.
func (s *Sticky) Looked() bool { return s.looked }

// Step takes one input, as [Machine.Step] does.
func (s *Sticky) Step(now time.Duration, in Input) []Command {
	s.now = max(s.now, now)
	if in.Kind == Tick {
		s.wake = never
	}
	if s.state != dropped {
		s.take(in)
		s.deadlines()
		s.work()
		s.schedule()
	}
	out := s.out
	s.out = nil
	return out
}

func (s *Sticky) take(in Input) {
	switch in.Kind {
	case Open:
		s.began, s.due = s.now, s.now
	case Claimed:
		s.claimed(in)
	case Refused:
		if s.answered(in) && s.state == Claiming {
			s.reject(BecauseHeld)
		}
	case Acked:
		s.acked(in)
	case Failed:
		if s.answered(in) {
			s.due = s.now + s.times.Retry
			s.leave(s.state == Leaving)
		}
	case ClaimGone:
		s.gone()
	case Cancel:
		if s.state == Claiming || s.state == Delayed {
			s.reject(BecauseCancelled)
		}
	case Stopped:
		s.stopped()
	}
}

// answered takes note of an answer that is awaited.
func (s *Sticky) answered(in Input) bool {
	if s.applies(stickyAwaited, in.For == 0 || in.For != s.asked.id) {
		return false
	}
	s.asked = sent{}
	return true
}

// claimed has the claim. Whoever had it before may still be about to hear of its end, and so may a copy of ourselves that
// has made this very claim: so it is looked at, and waited for.
func (s *Sticky) claimed(in Input) {
	if !s.answered(in) || s.state != Claiming {
		return
	}
	s.token = in.Token
	if s.applies(stickyRising, in.Token <= s.cfg.Floor) {
		s.ask(Command{Op: Release, Token: s.token, Cause: BecauseToken})
		s.emit(Command{Op: Reject, Cause: BecauseToken})
		s.state = Leaving
		return
	}
	s.state, s.began, s.due, s.end, s.looked = Delayed, s.now, s.now+s.times.Renew, s.now, in.Clean
	if s.applies(stickyDelay, !in.Clean) {
		s.due, s.end = s.now, s.now+max(s.cfg.Delay, in.Delay)
	}
	s.looked = s.looked || !s.applies(stickyLook, true) // an owner that never looks
}

// acked has heard that the claim is ours, or, when the work has ended, that this was written down.
func (s *Sticky) acked(in Input) {
	at := s.asked.at
	if !s.answered(in) {
		return
	}
	s.due, s.looked = at+s.times.Renew, true
	switch s.state {
	case Leaving:
		s.leave(true)
	case Claiming:
		s.state, s.end = Delayed, s.now
		if s.applies(stickySettled, !s.cfg.Settled) { // it may be that of a copy of us, which hears of it and must die first
			s.end += s.cfg.Delay
		}
	}
}

// gone is the engine's word that the claim is not ours any more. It may come at any time, also from a late answer: a claim
// that was gone does not come back.
func (s *Sticky) gone() {
	switch {
	case s.token == 0: // none was had
	case s.state == Claiming, s.state == Delayed:
		s.reject(BecauseClaimGone)
	case s.state == Owned && s.applies(stickyGone, true):
		s.state, s.asked, s.due = Told, sent{}, never
		s.kill, s.stop = s.now+s.times.Renew, s.now+s.times.Renew+s.times.Retry
		s.emit(Command{Op: Tell, Token: s.token, Cause: BecauseClaimGone})
	case s.state == Leaving:
		s.leave(true)
	}
}

func (s *Sticky) stopped() {
	switch s.state {
	case Owned:
		s.state = Leaving
		s.ask(Command{Op: Release, Token: s.token, Clean: true})
	case Told:
		s.leave(true)
	}
}

func (s *Sticky) reject(why Cause) {
	s.emit(Command{Op: Reject, Cause: why})
	s.leave(true)
}

// leave ends it.
func (s *Sticky) leave(on bool) {
	if on {
		s.state = dropped
		s.emit(Command{Op: End})
	}
}

// deadlines does what its time has come for.
func (s *Sticky) deadlines() {
	switch s.state {
	case Claiming:
		if !s.late() {
			return
		}
		if s.cfg.Token != 0 && s.cfg.Away {
			s.own()
			return
		}
		s.reject(BecauseUngranted)
	case Delayed:
		switch {
		case s.now >= s.end && s.looked:
			s.own()
		case s.now >= s.end && s.late():
			s.reject(BecauseUngranted)
		}
	case Told:
		if s.kill != never && s.applies(stickyKill, s.now >= s.kill) {
			s.kill = never
			s.emit(Command{Op: Kill, Token: s.token})
		}
		if s.stop != never && s.applies(stickyStop, s.now >= s.stop) {
			s.stop = never
			s.emit(Command{Op: FailStop, Token: s.token})
		}
	}
}

// late reports whether the engine was silent for too long. The delay is not silence.
func (s *Sticky) late() bool { return s.cfg.Limit > 0 && s.now >= s.limit() }

func (s *Sticky) limit() time.Duration {
	if s.state == Delayed {
		return max(s.began, s.end) + s.cfg.Limit
	}
	return s.began + s.cfg.Limit
}

func (s *Sticky) own() {
	s.state = Owned
	s.emit(Command{Op: Own, Token: s.token})
}

// work sends what is due.
func (s *Sticky) work() {
	if s.now < s.askDue() {
		return
	}
	switch {
	case s.state == Claiming && s.token == 0:
		s.ask(Command{Op: Ask})
	case s.state == Claiming, (s.state == Delayed || s.state == Owned) && s.applies(stickyLook, true):
		s.ask(Command{Op: Verify, Token: s.token})
	}
}

// askDue is when to ask, or to ask again: an answer may be lost.
func (s *Sticky) askDue() time.Duration {
	if s.asked.id != 0 {
		return s.asked.at + s.times.Renew
	}
	return s.due
}

// schedule sets the timer.
func (s *Sticky) schedule() {
	at := never
	switch s.state {
	case Claiming, Delayed, Owned:
		at = s.askDue()
		if s.state == Delayed && s.now < s.end {
			at = min(at, s.end)
		}
		if s.state != Owned && s.cfg.Limit > 0 && s.now < s.limit() {
			at = min(at, s.limit())
		}
	case Told:
		at = min(s.kill, s.stop)
	}
	if at != s.wake && s.state != dropped {
		s.wake = at
		if at != never {
			s.emit(Command{Op: Wake, At: at})
		}
	}
}

func (s *Sticky) emit(c Command) { s.out = append(s.out, c) }

// ask gives a command that has an answer.
func (s *Sticky) ask(c Command) {
	s.ids++
	c.ID = s.ids
	s.emit(c)
	s.asked = sent{s.ids, s.now}
}
