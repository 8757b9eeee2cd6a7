package cluster

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/solehold/solehold/internal/lease"
)

// request asks the engine for something, on a goroutine of its own, and steps the machine with the answer.
func (s *shell) request(c lease.Command, h *held) {
	if c.Op == lease.Grant {
		go s.open(c)
		return
	}
	session := s.session
	if session == nil {
		return // there is no lease, so nothing of it can be asked for
	}
	switch c.Op {
	case lease.Renew:
		go s.renew(c, session)
	case lease.Verify:
		go s.verify(c, session, s.owned())
	case lease.Release:
		go s.release(c, session, h.claim(c.Token))
	case lease.Revoke:
		go s.answer(c, func(ctx context.Context) error { return session.Revoke(ctx) })
	}
}

// limit is how long one request may take. An answer to a renewal that is older than 0.6 of the time to live proves
// nothing any more; a request for a claim must not arrive later than a fifth after it was sent (see package lease).
func (s *shell) limit(op lease.Op) time.Duration {
	ttl := s.ttl
	if op == lease.Renew {
		return ttl / 5 * 3
	}
	return ttl / 5
}

// bounded gives the context of one request.
func (s *shell) bounded(op lease.Op) (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.ctx, s.limit(op))
}

// answer asks something that is acknowledged or not.
func (s *shell) answer(c lease.Command, do func(context.Context) error) {
	ctx, cancel := s.bounded(c.Op)
	defer cancel()
	s.step(outcome(c.ID, do(ctx)))
}

// outcome is the input for an error.
func outcome(id uint64, err error) lease.Input {
	switch {
	case err == nil:
		return lease.Input{Kind: lease.Acked, For: id}
	case errors.Is(err, ErrLeaseGone):
		return lease.Input{Kind: lease.LeaseGone, For: id}
	}
	return lease.Input{Kind: lease.Failed, For: id}
}

func (s *shell) open(c lease.Command) {
	ctx, cancel := s.bounded(c.Op)
	defer cancel()
	session, err := s.client.backend.Grant(ctx, s.client.config.TTL)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.grant = err
		s.stepLocked(lease.Input{Kind: lease.Failed, For: c.ID})
		return
	}
	s.session, s.grant, s.ttl = session, errShort, min(s.ttl, session.TTL())
	if gone := session.Gone(); gone != nil {
		go s.follow(gone)
	}
	s.stepLocked(lease.Input{Kind: lease.Granted, For: c.ID, TTL: session.TTL()})
}

var errShort = errors.New("the engine granted a time to live that does not work with the grace or the lock-delay")

// follow passes on what the engine pushes.
func (s *shell) follow(gone <-chan Claim) {
	for {
		select {
		case c, ok := <-gone:
			if !ok {
				return
			}
			s.gone(c.Nonce)
		case <-s.ctx.Done():
			return
		}
	}
}

// gone tells the machine that a claim is not there, if it is one of ours.
func (s *shell) gone(nonce string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, h := range s.claims {
		if h.nonce == nonce && h.token != 0 {
			s.stepLocked(lease.Input{Kind: lease.ClaimGone, Claim: id, Token: h.token})
			return
		}
	}
}

func (s *shell) renew(c lease.Command, session Session) {
	ctx, cancel := s.bounded(c.Op)
	defer cancel()
	gone, err := session.Renew(ctx)
	s.looked(c.ID, gone, err)
}

func (s *shell) verify(c lease.Command, session Session, claims []Claim) {
	ctx, cancel := s.bounded(c.Op)
	defer cancel()
	gone, err := session.Verify(ctx, claims)
	s.looked(c.ID, gone, err)
}

// looked tells of claims that were not there, then of the answer.
func (s *shell) looked(id uint64, gone []string, err error) {
	for _, nonce := range gone {
		s.gone(nonce)
	}
	s.step(outcome(id, err))
}

// owned gives the claims that the engine has granted and nobody was told to let go.
func (s *shell) owned() []Claim {
	var all []Claim
	for _, h := range s.claims {
		if h.token != 0 && !h.leaving && !h.lost.Load() {
			all = append(all, h.claim(h.token))
		}
	}
	return all
}

// requestClaims asks for claims, with one request where the engine can. Two of one lock are two requests.
func (s *shell) requestClaims(commands []lease.Command) {
	if s.session == nil {
		return
	}
	_, batches := s.session.(Batcher)
	var together []lease.Command
	names := map[string]bool{}
	for _, c := range commands {
		if name := s.claims[c.Claim].name; batches && !names[name] {
			names[name], together = true, append(together, c)
		} else {
			s.requestEach(c)
		}
	}
	if len(together) > 0 {
		s.requestEach(together...)
	}
}

// requestEach asks for claims with one request.
func (s *shell) requestEach(commands ...lease.Command) {
	claims := make([]*held, len(commands))
	for i, c := range commands {
		claims[i] = s.claims[c.Claim]
	}
	go s.ask(commands, s.session, claims)
}

// claimEach is one request.
func claimEach(ctx context.Context, session Session, all []Request) []Answer {
	if len(all) == 1 {
		g, err := session.Claim(ctx, all[0])
		return []Answer{{g, err}}
	}
	return session.(Batcher).ClaimEach(ctx, all)
}

func (s *shell) ask(commands []lease.Command, session Session, claims []*held) {
	limit := s.limit(lease.Ask)
	if len(commands) > 1 {
		limit = limit / 4 * 3 // where a part of the engine is silent, what the others have granted is heard in time
	}
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	requests := make([]Request, len(claims))
	for i, h := range claims {
		requests[i] = Request{Name: h.name, Nonce: h.nonce, Delay: s.client.config.Delay, Info: cmp.Or(h.o.Info, s.client.o.Info), Since: h.since}
	}
	answers := claimEach(ctx, session, requests)
	s.mu.Lock()
	defer s.mu.Unlock()
	ins := make([]lease.Input, len(commands))
	for i, c := range commands {
		ins[i] = s.answered(c, claims[i], answers[i])
	}
	s.stepLocked(ins...)
}

// answered gives the input for the answer to a claim.
func (s *shell) answered(c lease.Command, h *held, a Answer) lease.Input {
	var other *HeldError
	switch {
	case a.Err == nil:
		g := a.Grant
		if h.token == 0 { // an owner may be reading it
			h.token = g.Token
			h.granted(s.delay(g))
		}
		return lease.Input{Kind: lease.Claimed, For: c.ID, Claim: h.id, Token: g.Token, Clean: g.Clean, Delay: g.Delay}
	case errors.As(a.Err, &other):
		h.holder = other
		return lease.Input{Kind: lease.Refused, For: c.ID, Claim: h.id}
	}
	h.last = a.Err
	return outcome(c.ID, a.Err)
}

// delay is what the machine waits out before it makes an owner.
func (s *shell) delay(g Grant) time.Duration {
	if g.Clean {
		return 0
	}
	return max(s.client.config.Delay, g.Delay)
}

func (s *shell) release(c lease.Command, session Session, claim Claim) {
	s.answer(c, func(ctx context.Context) error {
		err := session.Release(ctx, claim, c.Clean)
		if errors.Is(err, ErrLeaseGone) {
			return nil // what hung on it is not ours any more
		}
		return err
	})
}
