package policy

import "time"

// episode is one time of being unhealthy.
type episode struct {
	marked  bool          // said to be unhealthy
	taken   uint64        // the evidence that was taken for it, or 0
	takenAt time.Duration // when it was asked for
	proved  bool          // the evidence is done
}

// sicken acts on a service that is alive and fails.
func (m *Machine) sicken() {
	m.state = Unhealthy
	if !m.marked {
		m.emit(Command{Op: MarkUnhealthy, Cause: BecauseUnhealthy})
	}
	m.marked = true
	if m.wantsEvidence() {
		m.takeEvidence()
	}
	switch {
	case m.applies(reportOnly, m.reports()):
	case m.applies(minFailing, m.failing < m.cfg.MinFailing):
	case m.applies(evidenceFirst, !m.proved):
	default:
		m.kill()
	}
}

// wantsEvidence is once in an episode, and again when a report has stood for long.
func (m *Machine) wantsEvidence() bool {
	old := m.reports() && m.now-m.takenAt >= m.cfg.Rearm
	return m.taken == 0 || old || !m.applies(oneEvidence, true)
}

// takeEvidence pauses the probes: a tree that is being looked at may answer late because of it.
func (m *Machine) takeEvidence() {
	m.evidence = m.next()
	m.taken, m.takenAt, m.proved = m.evidence, m.now, false
	m.emit(Command{Op: TakeEvidence, ID: m.evidence, Cause: BecauseUnhealthy})
}

// evidenceDone ends the pause. The next round is now, and only if it fails too is anything stopped.
func (m *Machine) evidenceDone(in Input) {
	if m.evidence == 0 || m.applies(ownEvidence, in.For != m.evidence) {
		return
	}
	late := in.For != m.taken // its service has ended or recovered, or its holder changed
	m.evidence = 0
	if late && m.applies(ownEvidence, true) {
		m.due = max(m.due, m.now)
		return
	}
	m.proved = true
	switch {
	case m.reports():
		m.once(BecauseReported)
	case !m.applies(lookAgain, true):
		m.kill()
		return
	}
	m.due = m.now
}

// kill stops the tree. The tree of a holder gets an ID of its own.
func (m *Machine) kill() {
	if m.cfg.Mode == Watch {
		m.life, m.stopped = life{id: m.next(), warm: m.warm, ending: m.ending}, true
	}
	m.stopTree(BecauseUnhealthy)
}

// reports says whether nothing may be stopped. After a give-up a watch would stop what it may not start again.
func (m *Machine) reports() bool {
	return m.cfg.OnUnhealthy == UnhealthyReport || m.cfg.Mode == Watch && m.givenUp
}
