package cluster

import (
	"context"
	"errors"
	"time"
)

// Call is one request to an engine that has come to its end.
type Call struct {
	// Op is what was asked.
	Op Op
	// Took is how long the answer took.
	Took time.Duration
	// Err is what came in its place.
	Err error
}

// Failed reports whether the engine did not do its part: it failed, or did not answer in time. That somebody else has a
// lock, that a lease has ended, and that the caller went away are answers.
func (c Call) Failed() bool {
	var held *HeldError
	return c.Err != nil && !errors.As(c.Err, &held) && !errors.Is(c.Err, ErrLeaseGone) && !errors.Is(c.Err, context.Canceled)
}

// Observe gives a backend that tells of each request but waiting. told is called from any goroutine, and must not block.
func Observe(b Backend, told func(Call)) Backend { return observed{b, told} }

type observed struct {
	Backend
	told func(Call)
}

func (o observed) Grant(ctx context.Context, ttl time.Duration) (Session, error) {
	s, err := tell(o.told, OpGrant, func() (Session, error) { return o.Backend.Grant(ctx, ttl) })
	if err != nil {
		return nil, err
	}
	if b, ok := s.(Batcher); ok {
		return observedBatcher{observedSession{s, o.told}, b}, nil
	}
	return observedSession{s, o.told}, nil
}

// observedBatcher is one that makes several claims with a request.
type observedBatcher struct {
	observedSession
	b Batcher
}

// ClaimEach tells of one request. It has failed where each of its parts has.
func (s observedBatcher) ClaimEach(ctx context.Context, all []Request) []Answer {
	answers, _ := tell(s.told, OpClaim, func() ([]Answer, error) {
		answers := s.b.ClaimEach(ctx, all)
		for _, a := range answers {
			if c := (Call{Err: a.Err}); !c.Failed() {
				return answers, nil
			}
		}
		return answers, answers[0].Err
	})
	return answers
}

type observedSession struct {
	Session
	told func(Call)
}

func (s observedSession) Renew(ctx context.Context) ([]string, error) {
	return tell(s.told, OpRenew, func() ([]string, error) { return s.Session.Renew(ctx) })
}

func (s observedSession) Claim(ctx context.Context, r Request) (Grant, error) {
	return tell(s.told, OpClaim, func() (Grant, error) { return s.Session.Claim(ctx, r) })
}

func (s observedSession) Verify(ctx context.Context, claims []Claim) ([]string, error) {
	return tell(s.told, OpVerify, func() ([]string, error) { return s.Session.Verify(ctx, claims) })
}

func (s observedSession) Release(ctx context.Context, c Claim, clean bool) error {
	_, err := tell(s.told, OpRelease, func() (none struct{}, err error) { return none, s.Session.Release(ctx, c, clean) })
	return err
}

func (s observedSession) Revoke(ctx context.Context) error {
	_, err := tell(s.told, OpRevoke, func() (none struct{}, err error) { return none, s.Session.Revoke(ctx) })
	return err
}

func tell[T any](told func(Call), op Op, ask func() (T, error)) (T, error) {
	start := time.Now()
	answer, err := ask()
	told(Call{op, time.Since(start), err})
	return answer, err
}
