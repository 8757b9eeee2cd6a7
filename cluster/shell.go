package cluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/solehold/solehold/internal/lease"
)

// shell is one lease: the machine, and what carries its commands out. Commands that ask the engine run on goroutines of
// their own, so that a silent engine holds up nothing.
type shell struct {
	client *Client
	clock  Clock
	timer  Timer
	done   chan struct{} // closed at the end of the machine
	ctx    context.Context
	cancel context.CancelFunc

	proven atomic.Int64 // until when owners may work, on the clock; 0 in doubt and at the end

	mu      sync.Mutex
	m       *lease.Machine
	session Session
	ttl     time.Duration // what was asked for, then the shorter of that and what was granted
	grant   error         // why there is no lease
	claims  map[uint64]*held
	numbers uint64
	lag     time.Duration // of Now behind Wall
	acked   time.Duration // the last sending that OnAcked was told of
}

// newShell begins a lease.
func newShell(c *Client) (*shell, error) {
	now := c.o.Clock.Now()
	m, err := lease.New(c.config, now)
	if err != nil {
		return nil, err
	}
	s := &shell{client: c, clock: c.o.Clock, m: m, ttl: c.config.TTL, claims: map[uint64]*held{}, done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.lag = s.clock.Wall() - now
	if s.timer, err = s.clock.Timer(func() { s.step(lease.Input{Kind: lease.Tick}) }); err != nil {
		return nil, fmt.Errorf("cannot keep the deadlines of a lease: %w", err)
	}
	s.step(lease.Input{Kind: lease.Open})
	return s, nil
}

// isOver reports whether nothing more can be claimed.
func (s *shell) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m.State() >= lease.Over
}

// step gives the machine an input and carries its commands out.
func (s *shell) step(in lease.Input) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stepLocked(in)
}

func (s *shell) stepLocked(ins ...lease.Input) {
	now, wall := s.clock.Now(), s.clock.Wall()
	if lag := wall - now; lag-s.lag > s.client.config.TTL/10 {
		s.carryOut(s.m.Step(now, lease.Input{Kind: lease.Doubt}))
		s.lag = lag
	} else if lag < s.lag {
		s.lag = lag // the time of day was set back
	}
	s.carryOut(s.m.Step(now, ins...))
	until, ok := s.m.Proven()
	if !ok {
		until = 0
	}
	s.proven.Store(int64(until))
	if sent, ttl := s.m.Acknowledged(); sent > s.acked {
		s.acked = sent
		s.client.o.OnAcked(sent, ttl)
		for _, h := range s.claims {
			h.acked(sent, ttl)
		}
	}
}

// carryOut does what the machine says. Claims that it asks for at once go together. Nothing here blocks.
func (s *shell) carryOut(commands []lease.Command) {
	var asks []lease.Command
	for _, c := range commands {
		h := s.claims[c.Claim]
		switch c.Op {
		case lease.Wake:
			s.timer.Set(c.At)
		case lease.End:
			s.end(c.Cause)
		case lease.Ask:
			asks = append(asks, c)
		case lease.Grant, lease.Renew, lease.Verify, lease.Release, lease.Revoke:
			s.request(c, h)
		default:
			if h != nil {
				s.tell(c, h)
			}
		}
	}
	s.requestClaims(asks)
}

// tell passes on to a holder what is about it.
func (s *shell) tell(c lease.Command, h *held) {
	switch c.Op {
	case lease.Own:
		h.owned = true
		h.acked(s.m.Acknowledged())
		h.own()
	case lease.Reject:
		h.reject(s.why(c.Cause, h))
	case lease.Tell:
		h.lose(c.Cause)
	case lease.Kill:
		close(h.killed)
	case lease.FailStop:
		s.client.o.FailStop(h.name, h.token)
		if h.o.FailStop != nil {
			h.o.FailStop()
		}
	case lease.Freeze, lease.Thaw:
		h.frozen.Store(c.Op == lease.Freeze)
		s.client.o.OnFreeze(h.name, c.Op == lease.Freeze)
	case lease.Forget:
		close(h.free)
		delete(s.claims, c.Claim)
	}
}

// why makes an error of a cause.
func (s *shell) why(c lease.Cause, h *held) error {
	switch c {
	case lease.BecauseHeld:
		if h.holder != nil {
			return h.holder
		}
	case lease.BecauseToken:
		return fmt.Errorf("lock %q: token %d after %d: %w", h.name, h.token, h.o.Floor, ErrToken)
	case lease.BecauseCancelled:
		return context.Canceled
	case lease.BecauseLeave:
		return ErrClosed
	case lease.BecauseClaimGone:
		return fmt.Errorf("lock %q: the claim was removed before it was owned", h.name)
	case lease.BecauseUngranted, lease.BecauseShort:
		return fmt.Errorf("%s %w: %w", s.client.backend.Traits().Engine, errNoLease, s.grant)
	}
	if h.last != nil {
		return fmt.Errorf("lock %q: %w: %w", h.name, ErrLate, h.last)
	}
	return fmt.Errorf("lock %q: %w", h.name, ErrLate)
}

// end is the end of the machine.
func (s *shell) end(lease.Cause) {
	for id, h := range s.claims {
		close(h.free)
		delete(s.claims, id)
	}
	close(s.done)
	s.cancel()
	s.timer.Stop()
}

// claimant is what the caller of acquire has to say about its claim.
type claimant struct {
	o       AcquireOptions
	granted func(delay time.Duration) // called with the lock-delay that is waited out; it must not block
}

// begin makes claims. What the engine is asked by that goes together.
func (s *shell) begin(claims []*held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ins := make([]lease.Input, len(claims))
	for i, h := range claims {
		s.numbers++
		h.id = s.numbers
		s.claims[h.id] = h
		ins[i] = lease.Input{Kind: lease.Acquire, Claim: h.id, Floor: h.o.Floor}
	}
	s.stepLocked(ins...)
}

// wait waits until the lock may be free. Where the engine does not say, asking again has a pace of its own.
func (s *shell) wait(ctx context.Context, held *HeldError) error {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	if session == nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(ErrLate) })()
	err := session.Wait(ctx, held)
	if err != nil && ctx.Err() == nil {
		s.client.rest(ctx)
	}
	switch {
	case err == nil || ctx.Err() == nil:
		return nil
	case context.Cause(ctx) == ErrLate:
		return nil // the lease has ended: go on with a new one
	}
	return fmt.Errorf("%w: %w", held, context.Cause(ctx))
}
