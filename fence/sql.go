package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// SQL keeps the highest token of each resource in a table of the database that is written to. It needs a database with
// INSERT ... ON CONFLICT ... RETURNING: PostgreSQL, SQLite 3.35, CockroachDB.
type SQL struct {
	// Table is the name of the table, "solehold_fence" by default. It is written into statements as it is.
	Table string
	// Placeholder writes the n-th parameter, "$1" by default; "?" for drivers that want that.
	Placeholder func(n int) string
}

// Tx is what is needed of a transaction: a *sql.Tx, or a *sql.Conn in one.
type Tx interface {
	// ExecContext is that of database/sql.
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	// QueryRowContext is that of database/sql.
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (s SQL) table() string {
	if s.Table == "" {
		return "solehold_fence"
	}
	return s.Table
}

// text puts the table and parameters into a statement.
func (s SQL) text(query string) string {
	query = strings.ReplaceAll(query, "TABLE_NAME", s.table())
	for n := 1; n <= 2; n++ {
		p := fmt.Sprintf("$%d", n)
		if s.Placeholder != nil {
			p = s.Placeholder(n)
		}
		query = strings.Replace(query, fmt.Sprintf("{%d}", n), p, 1)
	}
	return query
}

// Create makes the table if it is missing.
func (s SQL) Create(ctx context.Context, tx Tx) error {
	_, err := tx.ExecContext(ctx, s.text("CREATE TABLE IF NOT EXISTS TABLE_NAME (resource VARCHAR(512) PRIMARY KEY, token BIGINT NOT NULL)"))
	return err
}

// Raise says that the transaction is one of the owner with this token. It returns a *StaleError when a higher one was
// seen: roll back then. Call it first in the transaction that writes: it locks the resource's row until the end, so that
// the writes of two owners are one after the other. Outside a transaction it protects nothing.
func (s SQL) Raise(ctx context.Context, tx Tx, resource string, token uint64) error {
	if token > 1<<63-1 {
		return fmt.Errorf("%s: token %d is larger than a BIGINT", resource, token)
	}
	var taken int64
	err := tx.QueryRowContext(ctx, s.text(`INSERT INTO TABLE_NAME (resource, token) VALUES ({1}, {2})
ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE TABLE_NAME.token <= excluded.token RETURNING token`),
		resource, int64(token)).Scan(&taken)
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err := tx.QueryRowContext(ctx, s.text("SELECT token FROM TABLE_NAME WHERE resource = {1}"), resource).Scan(&taken); err != nil {
		return err
	}
	return &StaleError{Resource: resource, Token: token, Highest: uint64(taken)}
}
