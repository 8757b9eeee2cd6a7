package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/solehold/solehold/cluster"
)

// session is the claims of one client that are renewed together.
type session struct {
	b     *Backend
	ttl   time.Duration
	asked cluster.Asked
}

// TTL is how long claims live.
func (s *session) TTL() time.Duration { return s.ttl }

// Gone is nil: a renewal looks at each claim.
func (s *session) Gone() <-chan cluster.Claim { return nil }

// Claim runs the script for a claim. A claim that is asked for again lives anew, as one that is renewed.
func (s *session) Claim(ctx context.Context, r cluster.Request) (cluster.Grant, error) {
	return s.claimed(ctx, r, s.b.scripts.claim.Run(ctx, s.b.client, s.b.keys(r.Name), s.asked.Ask(r).Record.Text(), s.ttl.Milliseconds()))
}

// ClaimEach runs it for each in one pipeline.
func (s *session) ClaimEach(ctx context.Context, all []cluster.Request) []cluster.Answer {
	commands := make([]*redis.Cmd, len(all))
	pipe := s.b.client.Pipeline()
	for i, r := range all {
		commands[i] = s.b.scripts.claim.Eval(ctx, pipe, s.b.keys(r.Name), s.asked.Ask(r).Record.Text(), s.ttl.Milliseconds())
	}
	pipe.Exec(ctx) // each has its own error
	answers := make([]cluster.Answer, len(all))
	for i, r := range all {
		answers[i].Grant, answers[i].Err = s.claimed(ctx, r, commands[i])
	}
	return answers
}

// claimed reads the answer to a claim.
func (s *session) claimed(ctx context.Context, r cluster.Request, command *redis.Cmd) (cluster.Grant, error) {
	answer, err := command.Slice()
	if err != nil {
		return cluster.Grant{}, unknown(ctx, err)
	}
	kind, token, text, err := parse(answer)
	switch {
	case err != nil:
		return cluster.Grant{}, err
	case kind == 0:
		s.asked.Leave(r.Nonce, s.ttl)
		return cluster.Grant{}, cluster.HeldBy(r.Name, s.b.keys(r.Name)[0], text, token)
	}
	s.asked.Own(r.Nonce)
	if kind == 2 {
		return cluster.Grant{Token: token, Delay: r.Delay}, nil
	}
	if l, ok := cluster.LifeBefore(text, token-1, token); ok {
		cluster.Later(s.ttl/5, func(ctx context.Context) { s.b.note(ctx, r.Name, l) })
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

// Renew renews each claim in one pipeline, also those whose answer is not known: the server may have them. An owned one
// that is not there any more is gone; without any that was renewed the server must still answer.
func (s *session) Renew(ctx context.Context) ([]string, error) {
	claims := s.asked.All()
	answers := map[string]*redis.Cmd{}
	pipe := s.b.client.Pipeline()
	if len(claims) == 0 {
		pipe.Ping(ctx)
	}
	for nonce, c := range claims {
		answers[nonce] = s.b.scripts.renew.Eval(ctx, pipe, s.b.keys(c.Name), c.Record.Text(), s.ttl.Milliseconds())
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, unknown(ctx, err)
	}
	var gone []string
	for nonce, c := range claims {
		if n, err := answers[nonce].Int(); err == nil && n == 0 && c.Owned {
			gone = append(gone, nonce)
		}
	}
	return gone, nil
}

// Verify looks at claims and their tokens in one pipeline.
func (s *session) Verify(ctx context.Context, claims []cluster.Claim) ([]string, error) {
	mine := s.asked.All()
	answers := make([]*redis.Cmd, len(claims))
	pipe := s.b.client.Pipeline()
	for i, c := range claims {
		text := mine[c.Nonce].Record.Text()
		answers[i] = s.b.scripts.verify.Eval(ctx, pipe, s.b.keys(c.Name), text, strconv.FormatUint(c.Token, 10))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, unknown(ctx, err)
	}
	var gone []string
	for i, c := range claims {
		if n, err := answers[i].Int(); err == nil && n == 0 {
			gone = append(gone, c.Nonce)
		}
	}
	return gone, nil
}

// Release runs the script for a release. A nonce that was never asked for in this session has no claim.
func (s *session) Release(ctx context.Context, c cluster.Claim, clean bool) error {
	mine, ok := s.asked.Get(c.Nonce)
	if !ok {
		return nil
	}
	text, left := mine.Record.Text(), ""
	if clean {
		mine.Record.Ended = true
		left = mine.Record.Text()
	}
	token := strconv.FormatUint(c.Token, 10)
	freed, err := s.b.scripts.release.Run(ctx, s.b.client, s.b.keys(c.Name), text, token, left, s.b.channel(c.Name)).Int()
	if err != nil {
		return unknown(ctx, err)
	}
	if freed == 1 && c.Token != 0 {
		s.b.note(ctx, c.Name, cluster.LifeOf(mine.Record, c.Token, cluster.Given(clean)))
	}
	s.asked.Leave(c.Nonce, s.ttl)
	return nil
}

// Revoke gives all claims back without a word about their work.
func (s *session) Revoke(ctx context.Context) error {
	for nonce, c := range s.asked.All() {
		if err := s.Release(ctx, cluster.Claim{Name: c.Name, Nonce: nonce}, false); err != nil {
			return err
		}
	}
	return nil
}
