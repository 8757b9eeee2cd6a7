package lease

import "time"

// ClaimState is where a claim stands.
type ClaimState uint8

const (
	// Claiming awaits the engine's answer, or the lease.
	Claiming ClaimState = iota
	// Delayed has the claim and waits out the lock-delay, or a doubt.
	Delayed
	// Owned works.
	Owned
	// Told has been told to end, and is not seen to have ended.
	Told
	// Leaving gives the claim back.
	Leaving
	// dropped is nothing any more.
	dropped
)

// claim is one lock at the engine.
type claim struct {
	id     uint64
	state  ClaimState
	floor  uint64
	token  uint64
	clean  bool          // a release may say that the next owner need not wait
	frozen bool          // the work stands still
	gone   bool          // the engine does not have it any more
	asked  sent          // the Ask or Release whose answer is awaited
	due    time.Duration // of the next one
	open   time.Duration // when an Ask was sent that may still be on its way, or never
	end    time.Duration // of the delay
	kill   time.Duration // when to kill, beside the deadline of the lease; never once that was done
	stop   time.Duration // when to fail-stop; never once that was done
}

// acquire takes a claim on.
func (m *Machine) acquire(in Input) {
	if m.find(in.Claim) != nil || in.Claim == 0 {
		return
	}
	if m.leaving || m.applies(overIsOver, m.state == Over) {
		m.emit(Command{Op: Reject, Claim: in.Claim, Cause: BecauseLate})
		return
	}
	m.claims = append(m.claims, claim{id: in.Claim, floor: in.Floor, due: m.now, open: never, end: never, kill: never, stop: never})
}

// find gives a claim by its number.
func (m *Machine) find(id uint64) *claim {
	for i := range m.claims {
		if m.claims[i].id == id && m.claims[i].state != dropped {
			return &m.claims[i]
		}
	}
	return nil
}

// answered gives the claim that awaits this answer.
func (m *Machine) answered(in Input) *claim {
	c := m.find(in.Claim)
	if c == nil || c.state != Claiming && m.applies(awaited, true) || m.applies(awaited, c.asked.id != in.For || in.For == 0) {
		return nil
	}
	c.asked = sent{}
	return c
}

// claimed has the claim, if its token rises. An owner is made by the deadlines, which look first whether there is time.
func (m *Machine) claimed(in Input) {
	c := m.answered(in)
	if c == nil {
		return
	}
	c.token, c.clean = in.Token, in.Clean
	switch {
	case m.applies(rising, in.Token <= c.floor):
		c.withdraw(m, BecauseToken)
	default:
		c.state, c.end = Delayed, m.now
		if m.applies(delay, !in.Clean) {
			c.end += m.cfg.Delay
			if m.applies(longerDelay, in.Delay > m.cfg.Delay) {
				c.end = m.now + in.Delay
			}
		}
	}
}

// refused ends a claim that somebody else has. A request before it may still be on its way.
func (m *Machine) refused(in Input) {
	c := m.answered(in)
	if c == nil {
		return
	}
	if c.open == never {
		c.state = dropped
		m.emit(Command{Op: Reject, Claim: c.id, Cause: BecauseHeld})
		return
	}
	c.withdraw(m, BecauseHeld)
}

// unclaimed takes an unknown answer: the engine may have the claim or not.
func (m *Machine) unclaimed(id uint64) {
	for i := range m.claims {
		c := &m.claims[i]
		if c.state != Claiming || c.asked.id != id {
			continue
		}
		c.lose(m.now + m.times.Retry)
		if !m.applies(resolve, true) {
			c.state = dropped
			m.emit(Command{Op: Reject, Claim: c.id, Cause: BecauseHeld})
		}
	}
}

// lose takes note that what was asked may still be on its way, and is not awaited any more.
func (c *claim) lose(due time.Duration) {
	if c.state == Claiming && c.asked.id != 0 {
		c.open = c.asked.at
	}
	c.asked, c.due = sent{}, due
}

// cancel ends a claim that does not work yet.
func (m *Machine) cancel(id uint64, why Cause) {
	if c := m.find(id); c != nil && (c.state == Claiming || c.state == Delayed) {
		c.withdraw(m, why)
	}
}

// withdraw takes a claim back that never worked.
func (c *claim) withdraw(m *Machine, why Cause) {
	m.emit(Command{Op: Reject, Claim: c.id, Cause: why})
	c.lose(m.now)
	if maybe := c.open != never || c.token != 0; !maybe || !m.applies(withdraw, true) {
		c.state = dropped
		return
	}
	c.give(m)
}

// give begins the release.
func (c *claim) give(m *Machine) {
	c.lose(m.now)
	c.state = Leaving
	if c.gone || m.cause == BecauseLeaseGone {
		c.state = dropped
	}
}

// released takes the engine's word that a claim is not ours any more.
func (m *Machine) released(id uint64) {
	for i := range m.claims {
		c := &m.claims[i]
		if c.state != Leaving || c.asked.id != id {
			continue
		}
		settled := c.open == never || c.asked.at >= c.open+m.times.Renew
		c.asked, c.due = sent{}, m.now+m.times.Retry
		if settled || !m.applies(lateAsk, true) {
			c.state = dropped
		} else {
			c.due = max(c.due, c.open+m.times.Renew)
		}
	}
}

// unreleased takes an unknown answer to a release.
func (m *Machine) unreleased(id uint64) {
	for i := range m.claims {
		c := &m.claims[i]
		if c.state == Leaving && c.asked.id == id {
			c.asked, c.due = sent{}, m.now+m.times.Retry
			if !m.applies(withdrawAgain, true) {
				c.state = dropped
			}
		}
	}
}

// stopped takes the end of the work.
func (m *Machine) stopped(id uint64) {
	if c := m.find(id); c != nil && (c.state == Owned || c.state == Told) {
		c.clean = true
		c.give(m)
	}
}

// gone takes a claim that is not ours any more.
func (m *Machine) gone(in Input) {
	c := m.find(in.Claim)
	if c == nil || !m.applies(claimGone, true) || c.token == 0 || in.Token != c.token {
		return // of a claim that was never seen, or of one that was there before
	}
	c.gone = true
	switch c.state {
	case Delayed:
		c.state = dropped
		m.emit(Command{Op: Reject, Claim: c.id, Cause: BecauseClaimGone})
	case Owned:
		c.tell(m, BecauseClaimGone)
	case Leaving:
		if c.open == never {
			c.state = dropped
		}
	}
}
