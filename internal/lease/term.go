package lease

import "time"

// open asks for the lease.
func (m *Machine) open() {
	if m.state == Idle {
		m.state = Granting
		m.asking = m.ask(Command{Op: Grant})
	}
}

// granted begins the life of the lease. It counts from when it was asked for.
func (m *Machine) granted(in Input) {
	if m.state != Granting || in.For != m.asking.id {
		return
	}
	c := m.cfg
	if in.TTL > 0 {
		c.TTL = in.TTL
	}
	m.state, m.base, m.asking = Live, m.asking.at, sent{}
	m.renewal = m.base + m.times.Renew
	if c.check() != nil {
		m.end(BecauseShort)
		return
	}
	m.cfg, m.times = c, TimesOf(c.TTL)
	m.renewal = m.base + m.times.Renew
	if m.leaving {
		m.leave()
	}
}

// renew sends one renewal.
func (m *Machine) renew() {
	m.sends = append(m.sends, m.ask(Command{Op: Renew}))
	m.renewal = m.now + m.times.Retry
	if m.doubt != never {
		m.look() // each round of a doubt asks both
	}
}

// acked takes an acknowledgement.
func (m *Machine) acked(in Input) {
	switch in.For {
	case 0:
	case m.looking.id:
		m.looked = !m.applies(doubtFresh, m.looking.id <= m.before)
		m.looking = sent{}
		m.settle()
	case m.asking.id:
		if m.state == Over {
			m.asking = sent{}
			m.close()
		}
	default:
		m.renewed(in.For)
		m.released(in.For)
	}
}

// renewed moves the base to when the renewal was sent.
func (m *Machine) renewed(id uint64) {
	at, ok := m.sentAt(id)
	if !ok || m.state != Live && m.applies(final, true) {
		return
	}
	if m.doubt != never && m.applies(doubtFresh, id <= m.before) {
		return // it was sent before the clock stood still
	}
	m.state, m.fresh = Live, true
	m.base = max(m.base, at)
	m.renewal = at + m.times.Renew
	m.forgetSends()
	if m.acks++; m.acks >= VerifyEvery || m.doubt != never {
		m.look()
	}
	m.settle()
}

// sentAt gives the time from which an acknowledgement counts.
func (m *Machine) sentAt(id uint64) (at time.Duration, ok bool) {
	for i, s := range m.sends {
		if s.id != id {
			continue
		}
		switch {
		case !m.applies(fromSend, true):
			return m.now, true
		case !m.applies(ownAnswer, true):
			return m.sends[len(m.sends)-1].at, true
		}
		return m.sends[i].at, true
	}
	return 0, false
}

// forgetSends drops renewals that can prove nothing more.
func (m *Machine) forgetSends() {
	kept := m.sends[:0:0]
	for _, s := range m.sends {
		if s.at > m.base {
			kept = append(kept, s)
		}
	}
	m.sends = kept
}

// look verifies the claims.
func (m *Machine) look() {
	owned := false
	for i := range m.claims {
		owned = owned || m.claims[i].state == Owned || m.claims[i].state == Delayed
	}
	if m.cfg.NoVerify || !owned || !m.applies(verify, true) {
		m.acks, m.looked = 0, true
		return
	}
	m.acks = 0
	m.looking = m.ask(Command{Op: Verify})
}

// failed takes an answer that says nothing: what was asked is asked again in its time.
func (m *Machine) failed(in Input) {
	switch {
	case in.For == 0:
	case m.state == Granting && in.For == m.asking.id:
		m.cause = BecauseUngranted
		m.close()
	case m.state == Over && in.For == m.asking.id:
		m.asking = sent{}
		m.close() // it is not renewed any more, so the engine ends it
	case in.For == m.looking.id:
		m.looking, m.acks = sent{}, VerifyEvery
	default:
		m.unreleased(in.For)
		m.unclaimed(in.For)
	}
}

// doubted begins a doubt: the clock may have stood still, so the lease may be older than it looks.
func (m *Machine) doubted() {
	if m.state != Live {
		return
	}
	m.doubt, m.before, m.renewal = m.now, m.ids, m.now
	m.fresh, m.looked = false, false
	for i := range m.claims {
		if c := &m.claims[i]; c.state == Owned && !c.frozen && m.applies(doubtFreezes, true) {
			c.frozen = true
			m.emit(Command{Op: Freeze, Claim: c.id})
		}
	}
}

// settle ends a doubt when lease and claims were seen to be ours since.
func (m *Machine) settle() {
	if m.doubt == never || m.state != Live || !m.looked || !m.fresh {
		return
	}
	m.doubt = never
	for i := range m.claims {
		if c := &m.claims[i]; c.frozen && c.state == Owned {
			c.frozen = false
			m.emit(Command{Op: Thaw, Claim: c.id})
		}
	}
}

// leave winds the lease up.
func (m *Machine) leave() {
	m.leaving = true
	if m.state == Idle {
		m.cause = BecauseLeave
		m.close()
		return
	}
	for i := range m.claims {
		m.claims[i].leave(m)
	}
}

// end makes the lease over.
func (m *Machine) end(why Cause) {
	if m.state == Over || m.state == Ended {
		if why == BecauseLeaseGone {
			m.cause, m.asking = why, sent{} // nothing is left to give back
			m.dropGone()
		}
		return
	}
	m.state, m.cause = Over, why
	m.sends, m.looking = keepIf(!m.applies(final, true), m.sends), sent{}
	for i := range m.claims {
		m.claims[i].over(m)
	}
}

func keepIf(keep bool, s []sent) []sent {
	if keep {
		return s
	}
	return nil
}

// finish gives the lease back when nothing hangs on it.
func (m *Machine) finish() {
	m.drop()
	switch {
	case m.leaving && m.state == Live && (len(m.claims) == 0 || !m.applies(leftLast, true)):
		m.state, m.cause, m.sends = Over, BecauseLeave, nil
		m.asking = m.ask(Command{Op: Revoke})
	case m.state != Over || len(m.claims) > 0 || m.asking.id != 0:
	case m.cause == BecauseLeaseGone:
		m.close()
	default:
		m.asking = m.ask(Command{Op: Revoke})
	}
}

// close is the end. What was never granted is told.
func (m *Machine) close() {
	for i := range m.claims {
		m.emit(Command{Op: Reject, Claim: m.claims[i].id, Cause: m.cause})
	}
	m.claims, m.state = nil, Ended
	m.emit(Command{Op: End, Cause: m.cause})
}
