package lease

import "time"

// State is where a lease stands.
type State uint8

const (
	// Idle awaits [Open].
	Idle State = iota
	// Granting awaits the lease.
	Granting
	// Live is a lease that is renewed.
	Live
	// Over is a lease that is not proven any more: owners are told and end, nothing is claimed.
	Over
	// Ended is final.
	Ended
)

// String gives the word used in scripts.
func (s State) String() string { return word(s, "idle", "granting", "live", "over", "ended") }

// never is no time.
const never = time.Duration(1<<63 - 1)

// Machine is one lease and what hangs on it. It is for one goroutine.
type Machine struct {
	cfg     Config
	times   Times
	without guard // for tests
	out     []Command
	claims  []claim
	sends   []sent // renewals that may still be acknowledged
	situation
}

// situation is all that changes from step to step but the lists.
type situation struct {
	now     time.Duration // of the last step
	state   State
	ids     uint64 // the last one given
	wake    time.Duration
	base    time.Duration // when the last acknowledged renewal was sent
	renewal time.Duration // when the next one is due
	acks    int           // since the last verification
	asking  sent          // the grant, then the revocation
	looking sent          // the verification
	doubt   time.Duration // since when the clock is in doubt, or never
	before  uint64        // the last ID given before it
	fresh   bool          // a renewal from after it was acknowledged
	looked  bool          // and the claims were seen to be ours
	leaving bool
	cause   Cause // of the end
}

// sent is a command on its way: its ID, 0 for none, and when it was given.
type sent struct {
	id uint64
	at time.Duration
}

// New makes a machine that stands idle. Fields of c that are 0 get their defaults. Errors wrap [ErrConfig].
func New(c Config, now time.Duration) (*Machine, error) {
	c, err := c.Complete()
	if err != nil {
		return nil, err
	}
	m := &Machine{cfg: c, times: TimesOf(c.TTL)}
	m.now, m.wake, m.base, m.renewal, m.doubt = now, never, never, never, never
	return m, nil
}

// State gives the present state.
func (m *Machine) State() State { return m.state }

// Proven gives the time up to which owners may work, and whether that is so at all: before it nobody else can be an owner
// and nobody was told. It is not so before the grant, after the end, and in doubt.
func (m *Machine) Proven() (time.Duration, bool) {
	return m.until(m.times.Tell), m.state == Live && m.doubt == never
}

// Expires gives the time before which the engine keeps the lease, as far as is known.
func (m *Machine) Expires() time.Duration { return m.until(m.cfg.TTL) }

// Acknowledged gives when the last acknowledged renewal, or the grant, was sent, and the time to live that counts from
// there; 0 before the grant.
func (m *Machine) Acknowledged() (sent, ttl time.Duration) {
	if m.base == never {
		return 0, 0
	}
	return m.base, m.cfg.TTL
}

// until gives a time after the base.
func (m *Machine) until(d time.Duration) time.Duration {
	if m.base == never {
		return never
	}
	return m.base + d
}

// Step takes one input at the time now, an offset on a clock that counts suspended time too (CLOCK_BOOTTIME) and never
// runs backwards; a time before the last one is taken as the last one. The commands are to be done in order.
func (m *Machine) Step(now time.Duration, ins ...Input) []Command {
	if !m.applies(monotone, now < m.now) {
		m.now = now
	}
	for _, in := range ins {
		m.take(in)
	}
	if m.state != Ended {
		m.deadlines()
		m.work()
		m.finish()
		m.schedule()
	}
	return m.flush()
}

func (m *Machine) flush() []Command {
	out := m.out
	m.out = nil
	return out
}

// take sends an input to its place.
func (m *Machine) take(in Input) {
	if in.Kind == Tick && m.applies(rewake, true) {
		m.wake = never
	}
	if m.state == Ended {
		if in.Kind == Acquire {
			m.emit(Command{Op: Reject, Claim: in.Claim, Cause: m.cause})
		}
		return
	}
	switch in.Kind {
	case Open:
		m.open()
	case Granted:
		m.granted(in)
	case Failed:
		m.failed(in)
	case Acked:
		m.acked(in)
	case LeaseGone:
		if m.state != Idle && m.state != Granting && m.applies(leaseGone, true) {
			m.end(BecauseLeaseGone)
		}
	case Acquire:
		m.acquire(in)
	case Claimed:
		m.claimed(in)
	case Refused:
		m.refused(in)
	case Cancel:
		m.cancel(in.Claim, BecauseCancelled)
	case ClaimGone:
		m.gone(in)
	case Stopped:
		m.stopped(in.Claim)
	case Doubt:
		m.doubted()
	case Leave:
		m.leave()
	}
}

// deadlines does what its time has come for.
func (m *Machine) deadlines() {
	if m.state == Live && m.applies(localDeadline, m.now >= m.until(m.times.Tell)) {
		m.end(BecauseUnproven)
	}
	if m.state == Live && m.doubt != never && m.now >= m.doubt+2*m.times.Retry {
		m.end(BecauseUnproven)
	}
	for i := range m.claims {
		m.claims[i].deadlines(m)
	}
}

// work sends what is due.
func (m *Machine) work() {
	if m.state == Live && m.now >= m.renewal {
		m.renew()
	}
	for i := range m.claims {
		m.claims[i].work(m)
	}
}

// schedule sets the timer.
func (m *Machine) schedule() {
	at := never
	if m.state == Live {
		at = min(m.renewal, m.until(m.times.Tell))
		if m.doubt != never {
			at = min(at, m.doubt+2*m.times.Retry)
		}
	}
	for i := range m.claims {
		at = min(at, m.claims[i].next(m))
	}
	if at != m.wake && m.state != Ended {
		m.wake = at
		if at != never {
			m.emit(Command{Op: Wake, At: at})
		}
	}
}

// emit gives a command.
func (m *Machine) emit(c Command) { m.out = append(m.out, c) }

// ask gives a command that has an answer.
func (m *Machine) ask(c Command) sent {
	m.ids++
	c.ID = m.ids
	m.emit(c)
	return sent{m.ids, m.now}
}
