package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/solehold/solehold/cluster"
)

// Config is how PostgreSQL is reached.
type Config struct {
	// Pool is pgx's. [ConfigOf] makes it so that only a server that takes writes is used.
	Pool *pgxpool.Config
	// Schema is where the table lies.
	Schema string
	// NoCreate leaves a missing schema missing.
	NoCreate bool
}

// ConfigOf reads a target: postgres://h1:5432,h2/DATABASE. Its own parameters are schema=NAME and create=0.
func ConfigOf(t cluster.Target) (Config, error) {
	c := Config{Schema: t.Params.Get("schema"), NoCreate: t.Params.Get("create") == "0"}
	if c.Schema == "" {
		c.Schema = "solehold"
	}
	if err := t.Unknown("schema", "create"); err != nil {
		return Config{}, err
	}
	var hosts, ports []string
	for _, h := range t.WithPort("5432") {
		host, port, err := net.SplitHostPort(h)
		if err != nil {
			return Config{}, err
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	words := map[string]string{
		"host": strings.Join(hosts, ","), "port": strings.Join(ports, ","), "dbname": strings.Trim(t.Prefix, "/"),
		"target_session_attrs": "read-write", "sslmode": "prefer", "connect_timeout": "3",
	}
	if t.TLS {
		words["sslmode"] = "verify-full"
		words["sslrootcert"], words["sslcert"], words["sslkey"] = t.CAFile, t.CertFile, t.KeyFile
	}
	if t.User != "" {
		words["user"] = t.User
	}
	pool, err := pgxpool.ParseConfig(connString(words))
	if err != nil {
		return Config{}, fmt.Errorf("postgres: %w", err)
	}
	if t.Password != "" {
		pool.ConnConfig.Password = t.Password
	}
	c.Pool = pool
	return c, nil
}

// connString writes keywords and values. The password is not among them: errors show this text.
func connString(words map[string]string) string {
	var b strings.Builder
	for k, v := range words {
		if v != "" {
			fmt.Fprintf(&b, "%s='%s' ", k, strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v))
		}
	}
	return b.String()
}

// Backend is one client of PostgreSQL.
type Backend struct {
	c        Config
	pool     *pgxpool.Pool
	do       statements
	listener *listener
	close    context.CancelFunc // of the listener

	mu   sync.Mutex
	made bool
}

// New makes a client. It does not speak to the server yet.
func New(c Config) (*Backend, error) {
	c.Pool = c.Pool.Copy()
	// Prepared statements belong to a server session, which a pooler may change from one statement to the next.
	c.Pool.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	c.Pool.MinConns = 0
	pool, err := pgxpool.NewWithConfig(context.Background(), c.Pool)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	b := &Backend{c: c, pool: pool, do: newStatements(c.Schema)}
	b.listener = &listener{pool: pool, channel: b.channel(), waiting: map[string]*hearing{}}
	b.listener.ctx, b.close = context.WithCancel(context.Background())
	return b, nil
}

// Traits says what PostgreSQL can do.
func (b *Backend) Traits() cluster.Traits {
	return cluster.Traits{
		Engine: "postgres", RenewLooks: true,
		Fencing: "tokens and claims do not survive a failover to a replica that was behind",
	}
}

// Key is the table and the name of the row.
func (b *Backend) Key(name string) string { return b.table() + " " + name }

// Close ends the connections. It does not wait for requests whose context goes on.
func (b *Backend) Close() error {
	b.close()
	go b.pool.Close()
	return nil
}

// channel is where releases are notified.
func (b *Backend) channel() string { return "solehold:" + b.c.Schema }

// Grant makes a session. PostgreSQL has no leases: each row has its own time.
func (b *Backend) Grant(ctx context.Context, ttl time.Duration) (cluster.Session, error) {
	if err := b.make(ctx); err != nil {
		return nil, err
	}
	return &session{b: b, id: rand.Text(), ttl: ttl}, nil
}

// make makes the schema once, or sees that it is there.
func (b *Backend) make(ctx context.Context) error {
	b.mu.Lock()
	made := b.made
	b.mu.Unlock()
	if made {
		return nil
	}
	var there bool
	if err := b.pool.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", quote(b.c.Schema)+".lock").Scan(&there); err != nil {
		return b.away(ctx, err)
	}
	if !there && b.c.NoCreate {
		return fmt.Errorf("postgres: there is no table %s.lock, and create=0 forbids to make it", b.c.Schema)
	}
	if !there {
		if err := b.create(ctx); err != nil {
			return err
		}
	}
	b.mu.Lock()
	b.made = true
	b.mu.Unlock()
	return nil
}

// create makes the schema. Clients that do it together wait for each other: CREATE IF NOT EXISTS alone can fail then.
func (b *Backend) create(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext($1))", b.channel()); err != nil {
			return err
		}
		for statement := range strings.SplitSeq(Schema(b.c.Schema), ";\n") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("make the schema %s (postgres.Schema gives the statements for somebody who may): %w", b.c.Schema, unknown(ctx, err))
	}
	return nil
}

// away is unknown for a request that may be the first: is there a server at all?
func (b *Backend) away(ctx context.Context, err error) error {
	c := b.c.Pool.ConnConfig
	servers := []string{net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))}
	for _, f := range c.Fallbacks {
		if server := net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port))); !slices.Contains(servers, server) {
			servers = append(servers, server)
		}
	}
	if why, silent := cluster.WhySilent(err, servers...); silent {
		return fmt.Errorf("postgres: %w", why)
	}
	return unknown(ctx, err)
}

// unknown is an error that says nothing about what the server has done.
func unknown(ctx context.Context, err error) error {
	var pg *pgconn.PgError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("postgres: %w", context.Cause(ctx))
	case errors.As(err, &pg):
		return fmt.Errorf("postgres: %s (SQLSTATE %s)", pg.Message, pg.Code)
	}
	return fmt.Errorf("postgres: %w", oneLine{err})
}

// oneLine writes an error about several addresses in one line. An address that was tried with TLS and without is there
// twice.
type oneLine struct{ error }

func (e oneLine) Unwrap() error { return e.error }

func (e oneLine) Error() string {
	var lines []string
	for line := range strings.Lines(e.error.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": ")
}

// table is what the table of the locks is called in messages.
func (b *Backend) table() string { return b.c.Schema + ".lock" }

// row is what is there of a lock.
type row struct {
	token                  int64
	nonce, session, record string
	last                   string // what lies beside a sticky claim
	live                   bool
	left                   int64 // milliseconds
}

// look reads the rows of locks, by name. Where there is none, none is given.
func (b *Backend) look(ctx context.Context, names ...string) (map[string]row, error) {
	rows, err := b.pool.Query(ctx, b.do.look, names)
	if err != nil {
		return nil, unknown(ctx, err)
	}
	there := map[string]row{}
	var name string
	var r row
	_, err = pgx.ForEachRow(rows, []any{&name, &r.token, &r.nonce, &r.session, &r.record, &r.last, &r.live, &r.left}, func() error {
		there[name] = r
		return nil
	})
	return there, maybe(ctx, err)
}
