package lease

import (
	"slices"
	"time"
)

// tell ends an ownership. How long it may take depends on what is known: with a lease that still lives nothing hurries; a
// lease that is gone leaves the successor's lock-delay.
func (c *claim) tell(m *Machine, why Cause) {
	c.state = Told
	c.kill, c.stop = m.until(m.times.Kill), m.until(m.times.Stop)
	switch why {
	case BecauseLeave:
		c.kill, c.stop = m.now+m.cfg.Grace, never
	case BecauseLeaseGone, BecauseClaimGone:
		c.kill = min(c.kill, m.now+min(m.cfg.Grace, m.cfg.Delay/2))
		c.stop = min(c.stop, m.now+m.cfg.Delay)
	}
	if m.doubt != never {
		c.kill = m.now // how late it is nobody knows
		c.stop = min(c.stop, m.now+m.times.Retry)
	}
	m.emit(Command{Op: Tell, Claim: c.id, Token: c.token, Cause: why})
	if !m.applies(stoppedFirst, true) {
		c.give(m)
	}
}

// leave winds a claim up while the lease lives.
func (c *claim) leave(m *Machine) {
	switch c.state {
	case Claiming, Delayed:
		c.withdraw(m, BecauseLeave)
	case Owned:
		c.tell(m, BecauseLeave)
	}
}

// over winds a claim up when the lease is not proven any more.
func (c *claim) over(m *Machine) {
	switch c.state {
	case Claiming, Delayed:
		if !m.applies(inTime, true) {
			return
		}
		why := BecauseLate
		if m.cause == BecauseLeaseGone || m.cause == BecauseShort {
			why = m.cause
		}
		c.withdraw(m, why)
	case Owned:
		c.tell(m, m.cause)
	case Leaving:
		c.give(m)
	}
}

// dropGone ends the claims of a lease that does not exist.
func (m *Machine) dropGone() {
	for i := range m.claims {
		c := &m.claims[i]
		if c.gone = true; c.state == Leaving {
			c.state = dropped
		}
	}
}

// deadlines does what its time has come for.
func (c *claim) deadlines(m *Machine) {
	switch c.state {
	case Delayed:
		if m.now >= c.end && m.doubt == never && !m.applies(inTime, m.state != Live) {
			c.own(m)
		}
	case Told:
		c.killDue(m)
	case Leaving:
		if m.state == Over && m.now >= m.until(m.cfg.TTL) {
			c.state = dropped // the engine has ended it, or will: nobody renews it
		}
	}
}

// own makes the caller an owner.
func (c *claim) own(m *Machine) {
	c.state, c.end, c.clean = Owned, never, false
	m.emit(Command{Op: Own, Claim: c.id, Token: c.token})
}

// killDue kills, and later stops all.
func (c *claim) killDue(m *Machine) {
	if m.applies(killInTime, m.now >= c.killTime(m)) && c.kill != never {
		c.kill = never
		m.emit(Command{Op: Kill, Claim: c.id, Token: c.token})
	}
	if m.applies(stopInTime, m.now >= c.stopTime(m)) && !c.stopDone() {
		c.stop = done
		m.emit(Command{Op: FailStop, Claim: c.id, Token: c.token})
	}
}

// done is the stop time of what was stopped.
const done = never - 1

func (c *claim) stopDone() bool { return c.stop == done }

// killTime and stopTime are never behind the deadlines of the lease: a claim that is told while the lease lives must end
// before the lease does.
func (c *claim) killTime(m *Machine) time.Duration { return min(c.kill, m.until(m.times.Kill)) }

func (c *claim) stopTime(m *Machine) time.Duration { return min(c.stop, m.until(m.times.Stop)) }

// work sends what is due.
func (c *claim) work(m *Machine) {
	switch c.state {
	case Claiming:
		if m.state == Live && m.now >= c.askDue(m) {
			c.lose(m.now)
			c.asked = m.ask(Command{Op: Ask, Claim: c.id})
		}
	case Leaving:
		if m.now >= c.askDue(m) {
			clean := c.clean || !m.applies(honestRelease, true)
			c.asked = m.ask(Command{Op: Release, Claim: c.id, Token: c.token, Clean: clean})
		}
	}
}

// askDue is when to ask, or to ask again: an answer may be lost.
func (c *claim) askDue(m *Machine) time.Duration {
	if c.asked.id != 0 {
		return c.asked.at + m.times.Renew
	}
	return c.due
}

// next gives when something is due.
func (c *claim) next(m *Machine) time.Duration {
	switch c.state {
	case Claiming:
		if m.state == Live {
			return c.askDue(m)
		}
	case Delayed:
		if m.doubt == never {
			return c.end
		}
	case Told:
		at := never
		if c.kill != never {
			at = c.killTime(m)
		}
		if !c.stopDone() {
			at = min(at, c.stopTime(m))
		}
		return at
	case Leaving:
		if m.state == Over {
			return min(c.askDue(m), m.until(m.cfg.TTL))
		}
		return c.askDue(m)
	}
	return never
}

// drop forgets the claims of which nothing is left.
func (m *Machine) drop() {
	m.claims = slices.DeleteFunc(m.claims, func(c claim) bool {
		if c.state == dropped {
			m.emit(Command{Op: Forget, Claim: c.id})
		}
		return c.state == dropped
	})
}
