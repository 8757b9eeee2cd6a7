package policy

import "time"

// Guard is one rule that can be taken out.
type Guard = guard

// Situation is all that changes in a machine, and can be compared.
type Situation = situation

// Never is no time.
const Never = never

// Guards gives every guard.
func Guards() []Guard {
	var all []Guard
	for g := none + 1; g < guards; g++ {
		all = append(all, g)
	}
	return all
}

// Without takes a guard out.
func (m *Machine) Without(g Guard) { m.without = g }

// Key gives the situation with times relative to now and IDs reduced to what they are compared with, and without what
// makes no difference any more, so that two situations that go on alike are equal. It is for small configurations: their
// times are below [Horizon], and evidence is not taken again within it.
func (m *Machine) Key() Situation {
	s := m.situation
	s.failedAt = max(0, s.failedAt+s.previous-s.now)
	for _, t := range []*time.Duration{&s.due, &s.wake, &s.answerBy, &s.lastFail, &s.goodAt} {
		*t = Relative(*t, s.now)
	}
	if s.taken != 0 && s.taken != s.evidence {
		s.taken = 2
	}
	s.asked, s.evidence, s.id, s.taken = min(s.asked, 1), min(s.evidence, 1), min(s.id, 1), min(s.taken, 2)
	s.now, s.ids, s.upAt, s.takenAt = 0, 0, 0, 0
	if s.asked == 0 {
		s.answerBy, s.question = 0, 0
	}
	if !m.probes() && s.state != Waiting {
		s.due = 0
	}
	if s.state == GivenUp || s.state == Ended {
		s.wake, s.goodAt, s.window, s.round, s.life, s.episode, s.view = 0, 0, window{}, round{}, life{}, episode{}, view{}
	}
	s.failures = float64(int(s.failures*8)) / 8
	s.failing, s.fails = min(s.failing, m.cfg.MinFailing), min(s.fails, max(m.cfg.Health.FailureThreshold, m.cfg.Startup.FailureThreshold))
	if !s.held {
		s.holder = 0
	}
	if !s.gone {
		s.exit = Exit{}
	}
	return s
}

// Horizon is the distance beyond which times of a [Situation] are not told apart.
const Horizon = 4 * time.Second

// Relative gives t as seen from now.
func Relative(t, now time.Duration) time.Duration {
	if t == never {
		return t
	}
	return min(max(t-now, -Horizon), Horizon)
}
