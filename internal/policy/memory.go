package policy

import (
	"math"
	"time"
)

// Memory is what must outlive the process, so that a crash loop of the supervisor itself is one too, and so that a watch
// does not defeat the give-up of a run. It has ages and no times: whoever saves it writes the boot id and the boot-time
// clock beside it and gives what has passed since to [Memory.Later]. After a reboot nothing is added.
type Memory struct {
	// Failures is the failure score at the last failure.
	Failures float64 `json:"failures"`
	// Age is the time since then.
	Age time.Duration `json:"age"`
	// Previous is the last backoff, or 0.
	Previous time.Duration `json:"previous"`
	// Good is the time of good running seen since the last failure.
	Good time.Duration `json:"good"`
	// WasGood says that the last round was good. The time to the next good round then counts as good, even if a watch
	// --once was not there to see it.
	WasGood bool `json:"was_good"`
	// Seen is the time since that good round.
	Seen time.Duration `json:"seen"`
	// GivenUp says that nothing is started until a reset.
	GivenUp bool `json:"given_up"`
}

// Later gives the memory when d has passed.
func (m Memory) Later(d time.Duration) Memory {
	m.Age += d
	if m.WasGood {
		m.Seen += d
	}
	return m
}

// never is no time.
const never = time.Duration(math.MinInt64)

// record is the memory with times in place of ages.
type record struct {
	failures float64
	failedAt time.Duration
	previous time.Duration
	good     time.Duration
	goodAt   time.Duration // of the last good round if no other followed, or never
	givenUp  bool
}

// recall turns ages into times. What cannot be, in a file that somebody edited, is taken as nothing.
func recall(mem Memory, now time.Duration) record {
	within := func(d time.Duration) time.Duration { return min(max(d, 0), longest) }
	r := record{
		failures: mem.Failures, failedAt: now - within(mem.Age), previous: within(mem.Previous),
		good: within(mem.Good), goodAt: never, givenUp: mem.GivenUp,
	}
	if !(r.failures >= 0 && r.failures < 1e9) { // NaN too
		r.failures = 0
	}
	if mem.WasGood {
		r.goodAt = now - within(mem.Seen)
	}
	return r
}

// Memory gives what is to be saved. It is the same before and after a restart of the supervisor: [New] takes it.
func (m *Machine) Memory() Memory {
	r := m.record
	mem := Memory{Failures: r.failures, Previous: r.previous, Good: r.good, GivenUp: r.givenUp}
	if r.failures > 0 {
		mem.Age = m.now - r.failedAt
	}
	if r.goodAt != never {
		mem.WasGood, mem.Seen = true, m.now-r.goodAt
	}
	return mem
}

// runsWell credits the time since the last good round and begins anew.
func (m *Machine) runsWell() {
	if m.goodAt != never {
		m.good = min(m.good+m.now-m.goodAt, m.cfg.StableAfter)
	}
	m.goodAt = m.now
	if m.good >= m.cfg.StableAfter {
		m.failures, m.previous, m.givenUp = 0, 0, false
	}
}

// countFailure counts a failure and reports whether that is one too many.
func (m *Machine) countFailure() bool {
	m.failures = m.failures*math.Exp2(-m.good.Seconds()/m.cfg.HalfLife.Seconds()) + 1
	m.failedAt, m.good, m.goodAt = m.now, 0, never
	return m.cfg.RestartMax > 0 && m.applies(limit, m.failures > float64(m.cfg.RestartMax))
}

// draw gives the next backoff and remembers it.
func (m *Machine) draw() time.Duration {
	base, before := m.cfg.Backoff.Base, max(m.previous, m.cfg.Backoff.Base)
	random := m.in.Rand
	if !(random >= 0 && random < 1) {
		random = 0
	}
	d := float64(base) + random*(3*float64(before)-float64(base))
	if m.applies(backoffCap, d > float64(m.cfg.Backoff.Cap)) {
		d = float64(m.cfg.Backoff.Cap)
	}
	m.previous = time.Duration(d)
	return m.previous
}

// rest is what is left of the last backoff.
func (m *Machine) rest() time.Duration {
	if m.failures == 0 {
		return 0
	}
	return max(0, m.failedAt+m.previous-m.now)
}
