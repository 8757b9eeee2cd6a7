package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/solehold/solehold/cluster"
)

// lifeTable has the lives of locks. A schema that was made before has none until the first life is written, and where
// nobody may make one there is no history.
const lifeTable = `CREATE TABLE IF NOT EXISTS $S.life (
	id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name text NOT NULL,
	text text NOT NULL
);
CREATE INDEX IF NOT EXISTS life_name ON $S.life (name, id);
`

// undefinedTable is the SQLSTATE of a table that is not there.
const undefinedTable = "42P01"

func (b *Backend) in(statement string) string {
	return strings.ReplaceAll(statement, "$S", quote(b.c.Schema))
}

// note adds a life, and removes the oldest ones. It is a label: that it cannot be written changes nothing.
func (b *Backend) note(ctx context.Context, name string, l cluster.Life) {
	add := b.in(`
WITH old AS (
	DELETE FROM $S.life WHERE name = $1 AND id <= (SELECT id FROM $S.life WHERE name = $1 ORDER BY id DESC OFFSET $3 LIMIT 1)
) INSERT INTO $S.life (name, text) VALUES ($1, $2)`)
	for range 2 {
		_, err := b.pool.Exec(ctx, add, name, l.Text(), cluster.LivesKept)
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != undefinedTable || b.c.NoCreate || b.create(ctx) != nil {
			return
		}
	}
}

// Lives reads the lives of a lock. Where there is no table there are none.
func (b *Backend) Lives(ctx context.Context, name string) ([]cluster.Life, error) {
	var there bool
	if err := b.pool.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", quote(b.c.Schema)+".life").Scan(&there); err != nil || !there {
		return nil, maybe(ctx, err)
	}
	rows, err := b.pool.Query(ctx, b.in("SELECT text FROM $S.life WHERE name = $1 ORDER BY id"), name)
	if err != nil {
		return nil, unknown(ctx, err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return cluster.ReadLives(texts), maybe(ctx, err)
}
