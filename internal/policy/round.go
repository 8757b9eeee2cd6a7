package policy

import "time"

// round is the probe that was asked for last.
type round struct {
	asked     uint64 // its ID while it is awaited, or 0
	question  Which
	answerBy  time.Duration // after this it is unknown
	saidSlow  bool          // since the last quick answer
	saidBlind bool          // since the last verdict
	blind     int           // rounds without one
}

// window is the failing rounds since the last good one.
type window struct {
	fails    int
	failing  time.Duration // from failing round to failing round, with nothing else between
	lastFail time.Duration // never if another round followed
	gapDebt  int           // rounds that must fail before anything is concluded
}

// probes reports whether rounds go on in this state.
func (m *Machine) probes() bool {
	if m.applies(pause, m.evidence != 0) {
		return false
	}
	switch m.state {
	case Probing:
		return true
	case Starting, Ready, Unhealthy:
		return m.cfg.Mode == Watch && m.state == Unhealthy || m.cfg.Mode == Run && m.up && m.hasProbe()
	}
	return false
}

// hasProbe reports whether the life as it is now has a probe.
func (m *Machine) hasProbe() bool { return m.cfg.HasHealth || m.which() == Startup }

// which gives the probe whose turn it is. For a watch only a holder can be starting.
func (m *Machine) which() Which {
	cold := m.cfg.HasStartup && !m.warm && (m.cfg.Mode == Run || m.held)
	if cold && (!m.cfg.HasHealth || m.applies(startupFirst, true)) {
		return Startup
	}
	return Health
}

func (m *Machine) schedules(w Which) Schedule {
	if w == Startup {
		return m.cfg.Startup
	}
	return m.cfg.Health
}

// overdue makes a clock gap of a round that should have been long ago: we did not run, so perhaps nobody did.
func (m *Machine) overdue() {
	if m.applies(lateRound, m.now-m.due > m.schedules(m.which()).Period) {
		m.gap()
	}
}

// ask begins a round.
func (m *Machine) ask() {
	m.question, m.asked = m.which(), m.next()
	s := m.schedules(m.question)
	m.due, m.answerBy = m.now+s.Period, m.now+s.Timeout+s.Period
	if m.cfg.Mode == Watch {
		m.answerBy += m.cfg.LookTime
	}
	if m.applies(freshLock, true) {
		m.lock = LockUnknown
	}
	m.emit(Command{Op: Probe, ID: m.asked, Which: m.question})
}

// answer takes the result of a round.
func (m *Machine) answer(in Input) {
	if m.asked == 0 || m.applies(ownAnswer, in.For != m.asked) {
		return
	}
	m.asked = 0
	if m.now <= m.answerBy {
		m.due = max(m.due, m.now) // we did run all the time: a slow look is no gap
	}
	switch {
	case m.applies(inTime, m.now > m.answerBy):
		m.unsure()
	case in.Verdict == OK, in.Verdict == Slow:
		m.succeed(in.Verdict)
	case m.applies(unknownNeutral, in.Verdict != Fail):
		m.unsure()
	case m.question != m.which():
		m.lastFail, m.goodAt = never, never // a holder was met in the middle: it is asked its own question next
	default:
		m.fail()
	}
}

// succeed takes a good round: all failing is over.
func (m *Machine) succeed(v Verdict) {
	m.runsWell()
	if v == Slow && !m.saidSlow {
		m.emit(Command{Op: Say, Cause: BecauseSlow})
	}
	m.saidSlow, m.saidBlind, m.said, m.warned, m.blind = v == Slow, false, false, false, 0
	if m.marked {
		m.emit(Command{Op: MarkHealthy})
	}
	m.window, m.episode = window{lastFail: never}, episode{}
	if !m.warm {
		m.warm = true
		m.due = max(m.upAt+m.cfg.Health.InitialDelay, m.now+m.cfg.Health.Period)
	}
	if m.cfg.Mode == Watch {
		m.state = Probing
		m.once(BecauseHealthy)
		return
	}
	m.state = Ready
	m.serve()
}

// fail takes a failing round.
func (m *Machine) fail() {
	m.goodAt, m.saidBlind = never, false
	m.fails++
	if m.lastFail != never {
		m.failing += m.now - m.lastFail
	}
	m.lastFail = m.now
	m.gapDebt = max(0, m.gapDebt-1)
	switch {
	case m.applies(threshold, m.fails < m.needed()):
	case m.applies(gapRounds, m.gapDebt > 0):
	case m.cfg.Mode == Watch:
		m.decide()
	default:
		m.sicken()
	}
}

// needed is how many rounds must fail. What nobody holds is not merely slow, so a
// watch that decides once decides that at once.
func (m *Machine) needed() int {
	if m.cfg.Once && m.lock == LockFree {
		return 1
	}
	return m.schedules(m.question).FailureThreshold
}

// unsure takes a round without a verdict. It is said once, since a probe that is always blind protects nothing.
func (m *Machine) unsure() {
	m.goodAt = never
	if m.applies(unknownBreaks, true) {
		m.lastFail = never
	}
	if !m.saidBlind {
		m.emit(Command{Op: Say, Cause: BecauseUnknown})
	}
	m.saidBlind = true
	m.doubt()
}

// doubt counts a round that leaves open what to do; a watch that decides once
// gives up on as many as would have been failures.
func (m *Machine) doubt() {
	if !m.cfg.Once {
		return
	}
	if m.blind++; m.blind >= m.schedules(m.question).FailureThreshold {
		m.once(BecauseUnknown)
	}
}

// gap forgets what failed before a clock gap, and the round that was running in it.
func (m *Machine) gap() {
	if m.applies(gapVoids, true) {
		m.window = window{lastFail: never}
	}
	m.gapDebt = m.cfg.RoundsAfterGap
	if m.asked != 0 {
		m.asked, m.due = 0, m.now
	}
	if m.goodAt != never {
		m.goodAt = m.now
	}
	if m.cfg.HasHealth {
		m.goodAt = never
	}
}
