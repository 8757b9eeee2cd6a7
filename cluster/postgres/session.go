package postgres

import (
	"context"
	"errors"
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

// Claim is one statement, and a second one that looks who has it when it was refused.
func (s *session) Claim(ctx context.Context, r cluster.Request) (cluster.Grant, error) {
	c := s.asked.Ask(r)
	var token int64
	var last string
	err := s.b.pool.QueryRow(ctx, s.b.do.claim, r.Name, r.Nonce, s.id, c.Record.Text(), s.ttl.Milliseconds()).Scan(&token, &last)
	switch {
	case err == nil:
		s.asked.Own(r.Nonce)
		s.foundExpired(r.Name, last, uint64(token))
		return cluster.GrantAfter(uint64(token), last), nil
	case !errors.Is(err, pgx.ErrNoRows):
		return cluster.Grant{}, unknown(ctx, err)
	}
	row, err := s.look(ctx, r.Name)
	switch {
	case err != nil:
		return cluster.Grant{}, err
	case row.nonce == r.Nonce && row.session == s.id && row.live:
		s.asked.Own(r.Nonce)
		return cluster.Grant{Token: uint64(row.token), Delay: r.Delay}, nil
	}
	s.asked.Leave(r.Nonce, s.ttl)
	return cluster.Grant{}, cluster.HeldBy(r.Name, s.b.c.Schema+".lock", row.record, uint64(row.token))
}

// row is what is there of a lock.
type row struct {
	token                  int64
	nonce, session, record string
	last                   string // what lies beside a sticky claim
	live                   bool
	left                   int64 // milliseconds
}

func (s *session) look(ctx context.Context, name string) (r row, err error) {
	err = s.b.pool.QueryRow(ctx, s.b.do.look, name).Scan(&r.token, &r.nonce, &r.session, &r.record, &r.last, &r.live, &r.left)
	if errors.Is(err, pgx.ErrNoRows) {
		return row{}, nil
	}
	if err != nil {
		return row{}, unknown(ctx, err)
	}
	return r, nil
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
		r, err := s.look(ctx, held.Name)
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
