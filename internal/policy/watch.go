package policy

// view is what a watch knows of the lock.
type view struct {
	lock   Lock   // as seen in this round
	held   bool   // whether the last state that was free or held was held
	holder uint64 // who held it then
	said   bool   // that a start is withheld
	// stopped says that this watch has stopped a holder.
	stopped bool
	warned  bool // that the lock leaves open what to do
}

// look takes a look at the lock. It decides nothing: the verdict of the round does.
func (m *Machine) look(in Input) {
	if m.cfg.Mode != Watch {
		return
	}
	m.lock = in.Lock
	if in.GivenUp && !m.givenUp {
		m.givenUp, m.good, m.goodAt = true, 0, never // only what runs well from now on forgives it
	}
	switch in.Lock {
	case LockFree:
		m.held, m.warned = false, false
	case LockHeld:
		if m.applies(newHolder, !m.held || in.Holder != m.holder) {
			m.meet()
		}
		m.held, m.holder, m.warned = true, in.Holder, false
	}
}

// meet gives a new holder a clean sheet: what the one before failed is not its fault, and it may still be starting.
func (m *Machine) meet() {
	m.window, m.episode = window{lastFail: never, gapDebt: m.gapDebt}, episode{marked: m.marked}
	m.warm = !m.cfg.HasStartup
	if m.state == Unhealthy {
		m.state = Probing
	}
}

// decide acts on a service that fails, by the state of its lock.
func (m *Machine) decide() {
	switch {
	case !m.applies(lockFree, m.lock != LockFree):
		m.recover()
	case m.lock == LockHeld:
		m.sicken()
	default:
		m.warn()
		m.doubt()
	}
}

// warn says once that what fails can neither be started nor stopped. A watch that decides once ends with that.
func (m *Machine) warn() {
	if !m.warned && !m.cfg.Once {
		m.emit(Command{Op: Say, Cause: BecauseUnknown})
	}
	m.warned = true
}

// recover starts what is down and free, if it may. The next start must wait for the backoff drawn now.
func (m *Machine) recover() {
	switch {
	case m.applies(remembers, m.givenUp):
		if !m.said {
			m.emit(Command{Op: Say, Cause: BecauseGivenUp})
		}
		m.said = true
		m.once(BecauseGivenUp)
	case m.applies(serveBackoff, m.rest() > 0):
		if m.cfg.Once && !m.stopped { // what it has stopped it starts again, if later
			m.end(BecauseBackoff)
			return
		}
		m.wait(m.rest(), BecauseBackoff)
	case m.countFailure():
		m.giveUp(BecauseLimit)
	default:
		m.draw()
		m.launch()
		m.emit(Command{Op: Recovered, Cause: BecauseDown})
	}
}

// holderGone takes the end of a holder that was stopped, or of a launch that came to nothing. In both cases the next
// round shows what is.
func (m *Machine) holderGone(whole bool) {
	switch {
	case m.state == Starting:
		if m.applies(takenIsWell, m.in.Taken) {
			m.failures = max(0, m.failures-1)
		}
		m.state, m.id, m.due = Probing, 0, m.now+m.cfg.Health.Period
		m.emit(Command{Op: Say, Cause: BecauseLaunch})
		m.once(BecauseLaunch)
	case m.state != Stopping || !whole:
	case m.applies(stopWins, m.ending):
		m.end(BecauseAsked)
	default:
		m.state, m.id, m.due, m.episode = Probing, 0, m.now, episode{}
	}
}

// once ends a watch that was to decide once.
func (m *Machine) once(why Cause) {
	if m.cfg.Once {
		m.end(why)
	}
}
