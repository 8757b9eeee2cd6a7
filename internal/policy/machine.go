package policy

import "time"

// State is where a machine stands.
type State uint8

const (
	// Idle awaits [Begin].
	Idle State = iota
	// Probing is a watch between or in its rounds.
	Probing
	// Waiting is the delay before a start.
	Waiting
	// Starting is a child that has not been ready yet, or a launch on its way.
	Starting
	// Ready is a child that serves as far as is known.
	Ready
	// Unhealthy is a service that is alive and fails its probes.
	Unhealthy
	// Stopping is a tree that has not been seen dead yet.
	Stopping
	// GivenUp is a crash loop that has been ended. Only [Reset] leads out.
	GivenUp
	// Ended is final.
	Ended
)

// String gives the word that status and history show.
func (s State) String() string {
	return word(s, "idle", "probing", "waiting", "starting", "ready", "unhealthy", "stopping", "given-up", "ended")
}

// Machine is one service's state. It is for one goroutine.
type Machine struct {
	cfg     Config
	without guard // for tests
	in      Input // the one that is being taken
	out     []Command
	situation
}

// situation is all that changes from step to step, and can be compared.
type situation struct {
	now   time.Duration // of the last step
	state State
	ids   uint64        // the last one given
	due   time.Duration // of the next round, or of the end of waiting
	wake  time.Duration // what the shell's timer is set to, or never
	// evidence is the ID of the one that is being taken, or 0. It may be that of a life that has ended.
	evidence uint64
	life
	round
	window
	episode
	view
	record
}

// life is one child, or in a watch one launch or one stop.
type life struct {
	id     uint64 // of its Start or StopTree; 0 is none
	up     bool   // has been started
	upAt   time.Duration
	warm   bool // the startup probe has been good
	served bool // has been marked ready
	gone   bool // the leader has ended
	exit   Exit // of the leader
	killed bool // is being stopped for being unhealthy
	ending bool // nothing is started after it
}

// New makes a machine that stands idle. The memory is that of the run before, made later by what has passed since. Fields
// of c that are 0 get their defaults. Errors wrap [ErrConfig].
func New(c Config, mem Memory, now time.Duration) (*Machine, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	m := &Machine{cfg: c}
	m.now, m.wake, m.lastFail = now, never, never
	m.record = recall(mem, now)
	return m, nil
}

// State gives the present state.
func (m *Machine) State() State { return m.state }

// Step takes one input at the time now, an offset on a clock that counts suspended time too (CLOCK_BOOTTIME) and never
// runs backwards; a time before the last one is taken as the last one. The commands are to be done in order.
func (m *Machine) Step(now time.Duration, in Input) []Command {
	if !m.applies(monotone, now < m.now) {
		m.now = now
	}
	m.settle(in)
	final := m.state == GivenUp || m.state == Ended
	if in.Kind != Reset && m.applies(finality, final) {
		return nil
	}
	m.in = in
	m.take(in)
	m.schedule()
	out := m.out
	m.in, m.out = Input{}, nil
	return out
}

// settle strikes out what was owed, in a final state too: a reset leads out of one.
func (m *Machine) settle(in Input) {
	switch {
	case in.Kind == Tick && m.applies(rewake, true):
		m.wake = never
	case in.Kind == EvidenceDone && in.For == m.evidence && (m.state == GivenUp || m.state == Ended):
		m.evidence = 0
	}
}

// take sends an input to its place.
func (m *Machine) take(in Input) {
	switch in.Kind {
	case Begin:
		m.begin()
	case LockState:
		m.look(in)
	case ProbeResult:
		m.answer(in)
	case ChildStarted:
		m.childStarted(in)
	case ChildReady:
		m.childReady(in)
	case Exited:
		m.exited(in)
	case EvidenceDone:
		m.evidenceDone(in)
	case StopRequested:
		m.stop()
	case ClockGap:
		m.gap()
	case Tick:
		m.tick()
	case Reset:
		m.reset()
	}
}

// schedule asks for the round that is due and sets the timer.
func (m *Machine) schedule() {
	at := m.due
	switch {
	case m.probes():
		if m.asked == 0 && m.due <= m.now {
			m.overdue()
			m.ask()
		}
		at = m.due
		if m.asked != 0 {
			at = m.answerBy
		}
	case m.state != Waiting:
		return
	}
	if at != m.wake {
		m.emit(Command{Op: Wake, At: at})
		m.wake = at
	}
}

// tick does what is due.
func (m *Machine) tick() {
	switch {
	case m.state == Waiting:
		if m.now >= m.due {
			m.resume()
		}
	case m.probes() && m.asked != 0 && m.now >= m.answerBy:
		m.asked = 0
		m.unsure()
	}
}

// resume goes on after a wait.
func (m *Machine) resume() {
	if m.cfg.Mode == Run {
		m.launch()
		return
	}
	m.state, m.due = Probing, m.now
}

// reset forgets failures. A wait ends; a give-up becomes the idle state.
func (m *Machine) reset() {
	m.failures, m.previous, m.good, m.givenUp = 0, 0, 0, false
	switch m.state {
	case Waiting:
		m.resume()
	case GivenUp:
		m.state, m.life, m.window, m.episode = Idle, life{}, window{lastFail: never}, episode{}
	}
}

// emit gives a command; one that has a cause has the detail too.
func (m *Machine) emit(c Command) {
	if c.Cause != BecauseNone {
		c.Detail = m.in.Reason
	}
	m.out = append(m.out, c)
}

// next gives an ID that was not given before.
func (m *Machine) next() uint64 {
	m.ids++
	return m.ids
}
