package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/solehold/solehold/cluster"
)

// Stick is the statement of a claim, without a session that renews it.
func (b *Backend) Stick(ctx context.Context, r cluster.Request) (cluster.Grant, error) {
	if err := b.make(ctx); err != nil {
		return cluster.Grant{}, err
	}
	var token int64
	var last string
	err := b.pool.QueryRow(ctx, b.do.stick, r.Name, r.Nonce, cluster.RecordOf(r).Text()).Scan(&token, &last)
	switch {
	case err == nil:
		return cluster.GrantAfter(uint64(token), last), nil
	case !errors.Is(err, pgx.ErrNoRows):
		return cluster.Grant{}, unknown(ctx, err)
	}
	there, err := b.look(ctx, r.Name)
	if err != nil {
		return cluster.Grant{}, err
	}
	by := there[r.Name]
	return cluster.StuckBy(r, b.Key(r.Name), by.record, uint64(by.token))
}

// Note is one statement. What lies beside a sticky claim is what the claim before has left, until it is first written.
func (b *Backend) Note(ctx context.Context, c cluster.Claim, from, to string) error {
	var token int64
	err := b.pool.QueryRow(ctx, b.do.note, c.Name, int64(c.Token), c.Nonce, from, to).Scan(&token)
	if errors.Is(err, pgx.ErrNoRows) {
		return cluster.ErrNotThere
	}
	return maybe(ctx, err)
}
