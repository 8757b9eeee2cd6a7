package cluster

import "context"

// Stick makes a claim without a lease.
func (c *MemoryClient) Stick(ctx context.Context, r Request) (Grant, error) {
	type answer struct {
		g   Grant
		err error
	}
	answers := make(chan answer, 1)
	err := c.wire.trip(ctx, OpClaim, func() {
		c.m.mu.Lock()
		defer c.m.mu.Unlock()
		g, err := c.m.stick(r)
		answers <- answer{g, err}
	})
	if err != nil {
		return Grant{}, err
	}
	a := <-answers
	return a.g, a.err
}

func (m *Memory) stick(r Request) (Grant, error) {
	l := m.locks[r.Name]
	switch {
	case l == nil:
		l = &memoryLock{}
		m.locks[r.Name] = l
	case l.held():
		return StuckBy(r, r.Name, l.record.Text(), l.token)
	}
	last := l.last
	m.tokens++
	l.writes++
	l.sticky, l.record, l.token = true, RecordOf(r), m.tokens
	l.last = l.record.Text()
	return GrantAfter(l.token, last), nil
}

// Note replaces what lies beside a claim.
func (c *MemoryClient) Note(ctx context.Context, claim Claim, from, to string) error {
	answer := make(chan error, 1)
	err := c.wire.trip(ctx, OpRenew, func() {
		c.m.mu.Lock()
		defer c.m.mu.Unlock()
		l := c.m.locks[claim.Name]
		if l == nil || !l.sticky || l.token != claim.Token || l.record.Nonce != claim.Nonce || l.last != from {
			answer <- ErrNotThere
			return
		}
		l.last = to
		l.writes++
		answer <- nil
	})
	if err != nil {
		return err
	}
	return <-answer
}

// look is Look over the wire.
func (c *MemoryClient) look(ctx context.Context, name string) ([]Seen, error) {
	type answer struct {
		all []Seen
		err error
	}
	answers := make(chan answer, 1)
	if err := c.wire.trip(ctx, OpVerify, func() {
		all, err := c.Look(ctx, name)
		answers <- answer{all, err}
	}); err != nil {
		return nil, err
	}
	a := <-answers
	return a.all, a.err
}
