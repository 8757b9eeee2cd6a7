package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is an engine in this process, for tests: locks between clients that have nothing in common but a pointer.
type Memory struct {
	mu      sync.Mutex
	begin   time.Time
	tokens  uint64
	locks   map[string]*memoryLock
	changed chan struct{} // closed at each change

	// DoubleGrant plants the fault that a checker must find: each N-th claim of a held lock is granted too. 0 is never.
	DoubleGrant int
	refused     int
}

// memoryLock is what the engine has of one name.
type memoryLock struct {
	by     *memorySession
	sticky bool
	record Record
	token  uint64
	writes uint64
	last   string // the record of the tenure before, for the successor
	lives  []string
}

func (l *memoryLock) held() bool { return l.by != nil || l.sticky }

// NewMemory makes an empty engine.
func NewMemory() *Memory {
	return &Memory{begin: time.Now(), locks: map[string]*memoryLock{}, changed: make(chan struct{})}
}

// Client connects one more client, with the faults of its wire.
func (m *Memory) Client(f Faults) *MemoryClient {
	since := func() time.Duration { return time.Since(m.begin) }
	return &MemoryClient{m: m, wire: &wire{faults: f, clock: since, count: map[Op]int{}}}
}

// Break deletes the claim of a name, as an operator would.
func (m *Memory) Break(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.locks[name]; l != nil && l.held() {
		m.lose(name, l)
	}
}

// Writes gives a number that changes with each write about a lock.
func (m *Memory) Writes(name string) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.locks[name]; l != nil {
		return l.writes
	}
	return 0
}

// Key is the name itself.
func (c *MemoryClient) Key(name string) string { return name }

// Look gives what there is of one lock, or of all.
func (c *MemoryClient) Look(_ context.Context, name string) ([]Seen, error) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	var all []Seen
	for _, n := range slices.Sorted(maps.Keys(c.m.locks)) {
		l := c.m.locks[n]
		if name != "" && n != name || l.last == "" {
			continue
		}
		s := SeenOf(n, n, "", l.last)
		if l.held() {
			s = SeenOf(n, n, l.record.Text(), l.last)
			s.Token = l.token
		}
		s.Highest = l.token
		all = append(all, s)
	}
	return all, nil
}

// Raise makes later tokens higher than above.
func (c *MemoryClient) Raise(_ context.Context, name string, above uint64) error {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if l := c.m.locks[name]; l != nil && l.held() {
		return HeldBy(name, name, l.record.Text(), l.token)
	}
	c.m.tokens = max(c.m.tokens, above)
	if l := c.m.locks[name]; l != nil {
		l.note(LifeOf(Record{}, above, Raised))
	}
	return nil
}

// Break removes a claim.
func (c *MemoryClient) Break(_ context.Context, name string, token uint64, why string) error {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	l := c.m.locks[name]
	if l == nil || !l.held() || l.token != token {
		return ErrNotThere
	}
	text, err := BrokenRecord(l.record.Text(), l.last, why)
	if err == nil {
		r, _ := ParseRecord(text)
		l.note(LifeOf(r, token, Broken))
		l.last = text
		c.m.lose(name, l)
	}
	return err
}

// Lives gives what has become of the claims of a lock.
func (c *MemoryClient) Lives(_ context.Context, name string) ([]Life, error) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if l := c.m.locks[name]; l != nil {
		return ReadLives(l.lives), nil
	}
	return nil, nil
}

// note keeps a life.
func (l *memoryLock) note(life Life) {
	l.lives = append(l.lives, life.Text())
	l.lives = l.lives[max(0, len(l.lives)-2*LivesKept):]
}

// lose ends a claim and pushes it.
func (m *Memory) lose(name string, l *memoryLock) {
	if l.by == nil {
		m.free(l)
		return
	}
	select {
	case l.by.gone <- Claim{Name: name, Nonce: l.record.Nonce, Token: l.token}:
	default: // a push may be lost
	}
	m.free(l)
}

// free ends a claim.
func (m *Memory) free(l *memoryLock) {
	l.by, l.sticky = nil, false
	l.writes++
	close(m.changed)
	m.changed = make(chan struct{})
}

// MemoryClient is one client of a [Memory] engine.
type MemoryClient struct {
	m    *Memory
	wire *wire
}

// Cut loses all messages from now on, or none.
func (c *MemoryClient) Cut(on bool) { c.wire.cut.Store(on) }

// Traits says that it pushes.
func (c *MemoryClient) Traits() Traits {
	return Traits{Engine: "memory", Push: true, Fencing: "does not survive this process"}
}

// Close does nothing.
func (c *MemoryClient) Close() error { return nil }

// memorySession is one lease.
type memorySession struct {
	c     *MemoryClient
	ttl   time.Duration
	timer *time.Timer
	over  bool
	gone  chan Claim
}

// Grant gives a lease.
func (c *MemoryClient) Grant(ctx context.Context, ttl time.Duration) (Session, error) {
	granted := make(chan *memorySession, 1)
	err := c.wire.trip(ctx, OpGrant, func() {
		s := &memorySession{c: c, ttl: ttl, gone: make(chan Claim, 16)}
		s.timer = time.AfterFunc(ttl, s.expire)
		granted <- s
	})
	if err != nil {
		return nil, err
	}
	return <-granted, nil
}

// expire ends the lease and all that hangs on it. Nothing is pushed: an engine cannot reach who does not renew.
func (s *memorySession) expire() {
	s.c.m.mu.Lock()
	defer s.c.m.mu.Unlock()
	s.over = true
	for _, l := range s.c.m.locks {
		if l.by == s {
			s.c.m.free(l)
		}
	}
}

// do carries out a request while the lease lives.
func (s *memorySession) do(ctx context.Context, op Op, f func() error) error {
	answer := make(chan error, 1) // a late answer must not write what the caller reads
	err := s.c.wire.trip(ctx, op, func() {
		s.c.m.mu.Lock()
		defer s.c.m.mu.Unlock()
		if s.over {
			answer <- ErrLeaseGone
			return
		}
		answer <- f()
	})
	if err != nil {
		return err
	}
	return <-answer
}

func (s *memorySession) TTL() time.Duration { return s.ttl }
func (s *memorySession) Gone() <-chan Claim { return s.gone }

func (s *memorySession) Renew(ctx context.Context) ([]string, error) {
	return nil, s.do(ctx, OpRenew, func() error {
		s.timer.Reset(s.ttl)
		return nil
	})
}

func (s *memorySession) Claim(ctx context.Context, r Request) (Grant, error) {
	grant := make(chan Grant, 1)
	err := s.do(ctx, OpClaim, func() error {
		g, err := s.claim(r)
		grant <- g
		return err
	})
	if err != nil {
		return Grant{}, err
	}
	return <-grant, nil
}

func (s *memorySession) claim(r Request) (Grant, error) {
	m := s.c.m
	l := m.locks[r.Name]
	switch {
	case l == nil:
		l = &memoryLock{}
		m.locks[r.Name] = l
	case l.by == s && l.record.Nonce == r.Nonce:
		return Grant{Token: l.token, Delay: r.Delay}, nil
	case l.held():
		if m.refused++; m.DoubleGrant == 0 || m.refused%m.DoubleGrant != 0 {
			return Grant{}, HeldBy(r.Name, r.Name, l.record.Text(), l.token)
		}
		m.tokens++
		return Grant{Token: m.tokens, Clean: true}, nil
	}
	last, before := l.last, l.token
	m.tokens++
	l.writes++
	if life, ok := LifeBefore(last, before, m.tokens); ok {
		l.note(life)
	}
	l.by, l.record, l.token = s, RecordOf(r), m.tokens
	l.last = l.record.Text()
	return GrantAfter(l.token, last), nil
}

func (s *memorySession) Verify(ctx context.Context, claims []Claim) ([]string, error) {
	gone := make(chan []string, 1)
	err := s.do(ctx, OpVerify, func() error {
		var nonces []string
		for _, c := range claims {
			if l := s.c.m.locks[c.Name]; l == nil || l.by != s || l.token != c.Token {
				nonces = append(nonces, c.Nonce)
			}
		}
		gone <- nonces
		return nil
	})
	if err != nil {
		return nil, err
	}
	return <-gone, nil
}

func (s *memorySession) Release(ctx context.Context, c Claim, clean bool) error {
	err := s.do(ctx, OpRelease, func() error {
		l := s.c.m.locks[c.Name]
		if l == nil || l.by != s || l.record.Nonce != c.Nonce || c.Token != 0 && c.Token != l.token {
			return nil
		}
		if c.Token != 0 {
			l.note(LifeOf(l.record, l.token, Given(clean)))
		}
		l.record.Ended = clean
		l.last = l.record.Text()
		s.c.m.free(l)
		return nil
	})
	if errors.Is(err, ErrLeaseGone) {
		return nil // what hung on it is not ours any more
	}
	return err
}

func (s *memorySession) Wait(ctx context.Context, held *HeldError) error {
	change := make(chan (<-chan struct{}), 1)
	if err := s.do(ctx, OpWait, func() error {
		if l := s.c.m.locks[held.Name]; l != nil && l.held() {
			change <- s.c.m.changed
			return nil
		}
		now := make(chan struct{})
		close(now)
		change <- now
		return nil
	}); err != nil {
		return err
	}
	select {
	case <-(<-change):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *memorySession) Revoke(ctx context.Context) error {
	err := s.do(ctx, OpRevoke, func() error { return nil })
	if err == nil {
		s.timer.Stop()
		s.expire()
	}
	return err
}
