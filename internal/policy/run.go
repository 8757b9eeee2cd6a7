package policy

import "time"

// begin makes the first move.
func (m *Machine) begin() {
	switch {
	case m.state != Idle:
	case m.cfg.Mode == Watch:
		m.state, m.due = Probing, m.now
	case m.applies(remembers, m.givenUp):
		m.giveUp(BecauseGivenUp)
	case m.applies(serveBackoff, m.rest() > 0):
		m.wait(m.rest(), BecauseBackoff)
	default:
		m.launch()
	}
}

// launch begins a new life: nothing of the one before counts any more.
func (m *Machine) launch() {
	m.life = life{id: m.next(), warm: !m.cfg.HasStartup}
	m.window, m.episode = window{lastFail: never}, episode{}
	m.asked, m.goodAt, m.state = 0, never, Starting
	m.emit(Command{Op: Start, ID: m.id})
}

// childStarted begins the probing of a child, or ends the launch of a watch.
func (m *Machine) childStarted(in Input) {
	if in.For != m.id || m.up || m.state != Starting {
		return
	}
	m.up, m.upAt = true, m.now
	m.due = m.now + m.schedules(m.which()).InitialDelay
	switch {
	case m.cfg.Mode == Watch:
		m.state = Probing
		m.once(BecauseStarted)
	case !m.hasProbe() && !m.cfg.AwaitReady:
		m.serve()
	}
}

// childReady takes the child's own word. Probes go on as before: it ends no startup probe and no unhealthiness.
func (m *Machine) childReady(in Input) {
	if m.cfg.Mode == Watch || in.For != m.id || m.state != Starting && m.state != Unhealthy {
		return
	}
	if !m.up {
		m.childStarted(in)
	}
	m.serve()
}

// serve marks a child ready, once in its life.
func (m *Machine) serve() {
	if m.state == Starting {
		m.state = Ready
	}
	if m.served {
		return
	}
	m.served = true
	m.emit(Command{Op: MarkReady})
	if !m.hasProbe() {
		m.goodAt = m.now
	}
}

// exited takes the end of the leader or of the tree.
func (m *Machine) exited(in Input) {
	if m.id == 0 || m.applies(ownExit, in.For != m.id) {
		return
	}
	if !m.gone {
		m.gone, m.exit = true, in.Exit
	}
	whole := !m.applies(wholeTree, !in.TreeDead)
	switch {
	case m.cfg.Mode == Watch:
		m.holderGone(whole)
	case whole:
		m.fall()
	case m.state != Stopping:
		m.stopTree(BecauseLeftover)
	}
}

// fall ends a life and decides what follows.
func (m *Machine) fall() {
	if m.served && !m.hasProbe() {
		m.runsWell()
	}
	cause := m.howEnded()
	again := m.killed || m.cfg.Restart == RestartAlways || m.cfg.Restart == RestartOnFailure && !m.exit.Clean()
	m.id, m.asked, m.episode = 0, 0, episode{}
	switch {
	case m.applies(stopWins, m.ending):
		m.end(BecauseAsked)
	case !again && cause == BecauseFinished:
		m.end(cause)
	case m.countFailure():
		m.giveUp(BecauseLimit)
	case !again:
		m.end(cause)
	default:
		m.wait(m.draw(), cause)
	}
}

// howEnded gives the cause of what follows an end. A service that was stopped for being unhealthy may well end with 0.
func (m *Machine) howEnded() Cause {
	switch {
	case m.killed:
		return BecauseUnhealthy
	case m.exit.Clean():
		return BecauseFinished
	}
	return BecauseCrashed
}

// wait starts after d, at once if there is nothing to wait for.
func (m *Machine) wait(d time.Duration, why Cause) {
	m.emit(Command{Op: Restarting, Delay: d, Cause: why})
	m.state, m.due = Waiting, m.now+d
	if d <= 0 {
		m.resume()
	}
}

// stop ends everything; a tree of ours first. A watch owns no tree, but finishes what it has begun to stop.
func (m *Machine) stop() {
	m.ending = true
	switch {
	case m.state == Stopping:
	case m.id == 0, m.cfg.Mode == Watch:
		m.end(BecauseAsked)
	default:
		m.stopTree(BecauseAsked)
	}
}

// stopTree ends a life. Its end is awaited however long that takes.
func (m *Machine) stopTree(why Cause) {
	m.state, m.asked, m.killed = Stopping, 0, why == BecauseUnhealthy
	m.emit(Command{Op: StopTree, ID: m.id, Cause: why})
}

// end is final.
func (m *Machine) end(why Cause) {
	m.state = Ended
	m.emit(Command{Op: End, Exit: m.mirrored(), Cause: why})
}

// giveUp is final until a person says otherwise.
func (m *Machine) giveUp(why Cause) {
	m.state, m.givenUp = GivenUp, true
	m.emit(Command{Op: GiveUp, Exit: m.mirrored(), Cause: why})
}

// mirrored gives the end that is ours too. A watch has no child: the end of a holder says nothing about it.
func (m *Machine) mirrored() Exit {
	if m.cfg.Mode == Watch {
		return Exit{}
	}
	return m.exit
}
