package postgres

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/solehold/solehold/cluster"
)

// session is the rows of one client that are renewed together.
type session struct {
	b   *Backend
	id  string
	ttl time.Duration

	asked cluster.Asked
}

// TTL is how long claims live.
func (s *session) TTL() time.Duration { return s.ttl }

// Gone is nil: a renewal looks at each claim.
func (s *session) Gone() <-chan cluster.Claim { return nil }

// Claim is claimAll of one.
func (s *session) Claim(ctx context.Context, r cluster.Request) (cluster.Grant, error) {
	a := s.claimAll(ctx, []cluster.Request{r})[0]
	return a.Grant, a.Err
}

// ClaimEach asks for all at once. A row that somebody's open transaction has holds all of them up: so what is not answered
// in half of the time is asked for by itself. It has the same nonce, so it is found if the first request has made it after all.
func (s *session) ClaimEach(ctx context.Context, all []cluster.Request) []cluster.Answer {
	half, cancel := ctx, context.CancelFunc(func() {})
	if at, ok := ctx.Deadline(); ok {
		half, cancel = context.WithTimeout(ctx, time.Until(at)/2)
	}
	defer cancel()
	answers := s.claimAll(half, all)
	if half.Err() == nil || ctx.Err() != nil {
		return answers
	}
	var each sync.WaitGroup
	for i, a := range answers {
		if a.Err != nil && !errors.Is(a.Err, cluster.ErrHeld) {
			each.Go(func() { answers[i].Grant, answers[i].Err = s.Claim(ctx, all[i]) })
		}
	}
	each.Wait()
	return answers
}

// takes bounds how often a lock is asked for that another has let go of before it was seen who that is.
const takes = 10

var errFlees = errors.New("postgres: each time that the lock was asked for somebody had it, and nobody when that was looked at")

// claimAll is one statement, and a second one that looks who has what was refused. What has become free between them is
// asked for again.
func (s *session) claimAll(ctx context.Context, all []cluster.Request) []cluster.Answer {
	answers := map[string]cluster.Answer{} // by nonce
	for _, r := range all {
		s.asked.Ask(r)
	}
	rest, err := all, error(nil)
	for n := 0; n < takes && len(rest) > 0 && err == nil; n++ {
		if rest, err = s.take(ctx, rest, answers); err == nil {
			rest, err = s.refused(ctx, rest, answers)
		}
	}
	for _, r := range rest {
		answers[r.Nonce] = cluster.Answer{Err: cmp.Or(err, errFlees)}
	}
	ordered := make([]cluster.Answer, len(all))
	for i, r := range all {
		ordered[i] = answers[r.Nonce]
	}
	return ordered
}

// take claims what is free, and gives what is not.
func (s *session) take(ctx context.Context, all []cluster.Request, answers map[string]cluster.Answer) (refused []cluster.Request, err error) {
	var names, nonces, records []string
	for _, r := range all {
		names, nonces, records = append(names, r.Name), append(nonces, r.Nonce), append(records, cluster.RecordOf(r).Text())
	}
	rows, err := s.b.pool.Query(ctx, s.b.do.claim, names, nonces, records, s.id, s.ttl.Milliseconds())
	if err != nil {
		return all, unknown(ctx, err)
	}
	made := map[string]cluster.Answer{}
	var name, last string
	var token int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &token, &last}, func() error {
		made[name] = cluster.Answer{Grant: cluster.GrantAfter(uint64(token), last)}
		if l, ok := cluster.LifeBefore(last, uint64(token-1), uint64(token)); ok {
			of := name
			cluster.Later(s.ttl/5, func(ctx context.Context) { s.b.note(ctx, of, l) })
		}
		return nil
	}); err != nil {
		return all, unknown(ctx, err)
	}
	for _, r := range all {
		if a, ok := made[r.Name]; ok {
			s.asked.Own(r.Nonce)
			answers[r.Nonce] = a
		} else {
			refused = append(refused, r)
		}
	}
	return refused, nil
}

// refused looks who has locks, which may be we, and gives those that nobody has any more; all where that fails.
func (s *session) refused(ctx context.Context, all []cluster.Request, answers map[string]cluster.Answer) (free []cluster.Request, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.Name
	}
	there, err := s.b.look(ctx, names...)
	if err != nil {
		return all, err
	}
	for _, r := range all {
		row := there[r.Name]
		switch {
		case !row.live:
			free = append(free, r)
		case row.nonce == r.Nonce && row.session == s.id:
			s.asked.Own(r.Nonce)
			answers[r.Nonce] = cluster.Answer{Grant: cluster.Grant{Token: uint64(row.token), Delay: r.Delay}}
		default:
			s.asked.Leave(r.Nonce, s.ttl)
			answers[r.Nonce] = cluster.Answer{Err: cluster.HeldBy(r.Name, s.b.Key(r.Name), row.record, uint64(row.token))}
		}
	}
	return free, nil
}

// Renew is one statement for all claims. An owned one that was not renewed is gone.
func (s *session) Renew(ctx context.Context) ([]string, error) {
	missing := s.asked.All()
	rows, err := s.b.pool.Query(ctx, s.b.do.renew, s.id, s.ttl.Milliseconds())
	if err != nil {
		return nil, unknown(ctx, err)
	}
	renewed, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, unknown(ctx, err)
	}
	for _, nonce := range renewed {
		delete(missing, nonce)
	}
	var gone []string
	for nonce, c := range missing {
		if c.Owned {
			gone = append(gone, nonce)
		}
	}
	return gone, nil
}

// Verify is one statement.
func (s *session) Verify(ctx context.Context, claims []cluster.Claim) ([]string, error) {
	rows, err := s.b.pool.Query(ctx, s.b.do.verify, s.id)
	if err != nil {
		return nil, unknown(ctx, err)
	}
	ours := map[string]int64{}
	var nonce string
	var token int64
	if _, err := pgx.ForEachRow(rows, []any{&nonce, &token}, func() error {
		ours[nonce] = token
		return nil
	}); err != nil {
		return nil, unknown(ctx, err)
	}
	var gone []string
	for _, c := range claims {
		if ours[c.Nonce] != int64(c.Token) {
			gone = append(gone, c.Nonce)
		}
	}
	return gone, nil
}

// Release is one statement. A nonce that was never asked for in this session has no claim.
func (s *session) Release(ctx context.Context, c cluster.Claim, clean bool) error {
	mine, ok := s.asked.Get(c.Nonce)
	if !ok {
		return nil
	}
	record := mine.Record
	record.Ended = clean
	freed, err := s.b.pool.Exec(ctx, s.b.do.release, c.Name, c.Nonce, s.id, int64(c.Token), record.Text(), s.b.channel())
	if err != nil {
		return unknown(ctx, err)
	}
	if freed.RowsAffected() > 0 && c.Token != 0 {
		s.b.note(ctx, c.Name, cluster.LifeOf(mine.Record, c.Token, cluster.Given(clean)))
	}
	s.asked.Leave(c.Nonce, s.ttl)
	return nil
}

// Wait returns when a release is notified, when the time of the claim is over, or when nothing was heard for a while.
func (s *session) Wait(ctx context.Context, held *cluster.HeldError) error {
	free, leave := s.b.listener.hear(held.Name)
	defer leave()
	for {
		there, err := s.b.look(ctx, held.Name)
		r := there[held.Name]
		if err != nil || !r.live {
			return err
		}
		select {
		case <-free:
			return nil
		case <-time.After(min(time.Duration(r.left+1)*time.Millisecond, s.ttl/10)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Revoke gives all claims back without a word about their work.
func (s *session) Revoke(ctx context.Context) error {
	if _, err := s.b.pool.Exec(ctx, s.b.do.revoke, s.id, s.b.channel()); err != nil {
		return unknown(ctx, err)
	}
	return nil
}
