package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/solehold/solehold/cluster"
)

// Look reads rows. Where there is no table there are none.
func (b *Backend) Look(ctx context.Context, name string) ([]cluster.Seen, error) {
	var there bool
	if err := b.pool.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", quote(b.c.Schema)+".lock").Scan(&there); err != nil {
		return nil, b.away(ctx, err)
	}
	if !there {
		return nil, nil
	}
	rows, err := b.pool.Query(ctx, b.do.list, name)
	if err != nil {
		return nil, unknown(ctx, err)
	}
	var all []cluster.Seen
	var n, record, last string
	var token, left int64
	var live bool
	_, err = pgx.ForEachRow(rows, []any{&n, &token, &record, &last, &live, &left}, func() error {
		key := b.Key(n)
		if !live {
			s := cluster.SeenOf(n, key, "", record)
			s.Highest = uint64(token)
			all = append(all, s)
			return nil
		}
		s := cluster.SeenOf(n, key, cmp.Or(record, " "), last) // an empty one is somebody else's
		if s.Token, s.Highest = uint64(token), uint64(token); !s.Sticky {
			s.Left = time.Duration(left) * time.Millisecond
		}
		all = append(all, s)
		return nil
	})
	return all, maybe(ctx, err)
}

// maybe is unknown for an error, and nil for none.
func maybe(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return unknown(ctx, err)
}

// Raise sets the number of a free row, which it makes if there is none.
func (b *Backend) Raise(ctx context.Context, name string, above uint64) error {
	if above > math.MaxInt64/2 {
		return fmt.Errorf("postgres: %d is too high for a token", above)
	}
	if err := b.make(ctx); err != nil {
		return err
	}
	var token int64
	err := b.pool.QueryRow(ctx, b.do.raise, name, int64(above)).Scan(&token)
	if err == nil {
		b.note(ctx, name, cluster.LifeOf(cluster.Record{}, above, cluster.Raised))
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return maybe(ctx, err)
	}
	all, err := b.Look(ctx, name)
	if err != nil || len(all) == 0 {
		return maybe(ctx, err)
	}
	return &cluster.HeldError{Name: name, Key: all[0].Key, Info: all[0].Info, Token: all[0].Token, Foreign: all[0].Foreign}
}

// Break frees a row in one statement with the word about it.
func (b *Backend) Break(ctx context.Context, name string, token uint64, why string) error {
	there, err := b.look(ctx, name)
	r := there[name]
	switch {
	case err != nil:
		return err
	case !r.live || r.token != int64(token):
		return cluster.ErrNotThere
	}
	left, err := cluster.BrokenRecord(r.record, r.last, why)
	if err != nil {
		return fmt.Errorf("the row of %q: %w", name, err)
	}
	var freed int64
	err = b.pool.QueryRow(ctx, b.do.unclaim, name, int64(token), r.record, left, b.channel()).Scan(&freed)
	if err == nil && freed == 0 {
		return cluster.ErrNotThere
	}
	if err == nil {
		broken, _ := cluster.ParseRecord(left)
		b.note(ctx, name, cluster.LifeOf(broken, token, cluster.Broken))
	}
	return maybe(ctx, err)
}
