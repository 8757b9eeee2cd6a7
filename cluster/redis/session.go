package redis

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/solehold/solehold/cluster"
)

// session is the claims of one client that are renewed together.
type session struct {
	b   *Backend
	ttl time.Duration

	mu     sync.Mutex
	claims map[string]claim // by nonce; those that were asked for and not given back
	over   bool
}

// claim is one that may be ours.
type claim struct {
	name   string
	record cluster.Record
	owned  bool // the server has said so
}

// TTL is how long claims live.
func (s *session) TTL() time.Duration { return s.ttl }

// Gone is nil: a renewal looks at each claim.
func (s *session) Gone() <-chan cluster.Claim { return nil }

func (s *session) set(nonce string, c claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims[nonce] = c
}

func (s *session) forget(nonce string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.claims, nonce)
}

// all gives the claims to be renewed. Those whose answer is not known are among them: the server may have them, and the
// lease is taken to be renewed for all.
func (s *session) all() map[string]claim {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]claim{}
	for nonce, c := range s.claims {
		all[nonce] = c
	}
	return all
}

// Claim runs the script for a claim. A claim that is asked for again lives anew, as one that is renewed.
func (s *session) Claim(ctx context.Context, r cluster.Request) (cluster.Grant, error) {
	c := claim{name: r.Name, record: cluster.RecordOf(r)}
	s.set(r.Nonce, c)
	keys := s.b.keys(r.Name)
	answer, err := s.b.scripts.claim.Run(ctx, s.b.client, keys, c.record.Text(), s.ttl.Milliseconds()).Slice()
	if err != nil {
		return cluster.Grant{}, unknown(ctx, err)
	}
	kind, token, text, err := parse(answer)
	switch {
	case err != nil:
		return cluster.Grant{}, err
	case kind == 0:
		s.forget(r.Nonce)
		return cluster.Grant{}, cluster.HeldBy(r.Name, keys[0], text, token)
	}
	c.owned = true
	s.set(r.Nonce, c)
	if kind == 2 {
		return cluster.Grant{Token: token, Delay: r.Delay}, nil
	}
	return cluster.GrantAfter(token, text), nil
}

func parse(answer []any) (kind int64, token uint64, text string, err error) {
	if len(answer) != 3 {
		return 0, 0, "", fmt.Errorf("redis: an answer of %d parts", len(answer))
	}
	kind, _ = answer[0].(int64)
	number, _ := answer[1].(string)
	text, _ = answer[2].(string)
	token, err = strconv.ParseUint(number, 10, 64)
	return kind, token, text, err
}

// Renew renews each claim in one pipeline. An owned one that is not there any more is gone; without any that was renewed
// the server must still answer.
func (s *session) Renew(ctx context.Context) ([]string, error) {
	if s.ended() {
		return nil, cluster.ErrLeaseGone
	}
	claims := s.all()
	answers := map[string]*redis.Cmd{}
	pipe := s.b.client.Pipeline()
	pipe.Ping(ctx)
	for nonce, c := range claims {
		answers[nonce] = s.b.scripts.renew.Eval(ctx, pipe, s.b.keys(c.name), c.record.Text(), s.ttl.Milliseconds())
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, unknown(ctx, err)
	}
	var gone []string
	for nonce, c := range claims {
		if n, err := answers[nonce].Int(); err == nil && n == 0 && c.owned {
			gone = append(gone, c.name)
		}
	}
	return gone, nil
}

func (s *session) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// Verify looks at claims and their tokens in one pipeline.
func (s *session) Verify(ctx context.Context, claims []cluster.Claim) ([]string, error) {
	mine := s.all()
	answers := make([]*redis.Cmd, len(claims))
	pipe := s.b.client.Pipeline()
	for i, c := range claims {
		text := mine[c.Nonce].record.Text()
		answers[i] = s.b.scripts.verify.Eval(ctx, pipe, s.b.keys(c.Name), text, strconv.FormatUint(c.Token, 10))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, unknown(ctx, err)
	}
	var gone []string
	for i, c := range claims {
		if n, err := answers[i].Int(); err == nil && n == 0 {
			gone = append(gone, c.Name)
		}
	}
	return gone, nil
}

// Release runs the script for a release. A nonce that was never asked for in this session has no claim.
func (s *session) Release(ctx context.Context, c cluster.Claim, clean bool) error {
	s.mu.Lock()
	mine, ok := s.claims[c.Nonce]
	s.mu.Unlock()
	if !ok {
		return nil
	}
	text, left := mine.record.Text(), ""
	if clean {
		mine.record.Ended = true
		left = mine.record.Text()
	}
	token := strconv.FormatUint(c.Token, 10)
	err := s.b.scripts.release.Run(ctx, s.b.client, s.b.keys(c.Name), text, token, left, s.b.channel(c.Name)).Err()
	return s.released(ctx, c, err)
}

// released forgets a claim some time later: its release may be repeated because a request was still on its way. A claim
// that is not renewed meanwhile runs out by itself.
func (s *session) released(ctx context.Context, c cluster.Claim, err error) error {
	if err != nil {
		return unknown(ctx, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if mine, ok := s.claims[c.Nonce]; ok && c.Token != 0 {
		mine.owned = false
		s.claims[c.Nonce] = mine
	}
	time.AfterFunc(s.ttl, func() { s.forget(c.Nonce) })
	return nil
}

// Revoke gives all claims back without a word about their work.
func (s *session) Revoke(ctx context.Context) error {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	for nonce, c := range s.all() {
		if err := s.Release(ctx, cluster.Claim{Name: c.name, Nonce: nonce}, false); err != nil {
			return err
		}
	}
	return nil
}
