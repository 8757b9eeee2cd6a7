package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/clustertest"
	"github.com/solehold/solehold/cluster/postgres"
	"github.com/solehold/solehold/internal/servers"
	"github.com/solehold/solehold/internal/testneed"
)

// start starts a PostgreSQL on a free port, as its own user, and gives its address.
func start(t *testing.T) string {
	t.Helper()
	testneed.Root(t)
	return servers.PostgreSQL().Run(t, answers)
}

func answers(addr string) bool {
	c, err := pgx.Connect(context.Background(), "postgres://postgres@"+addr+"/postgres")
	if err != nil {
		return false
	}
	c.Close(context.Background())
	return true
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func backend(t testing.TB, addr string) *postgres.Backend {
	t.Helper()
	target, err := cluster.ParseURL("postgres://postgres@"+addr+"/postgres?schema=so'le", cluster.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := postgres.ConfigOf(target)
	if err != nil {
		t.Fatal(err)
	}
	b, err := postgres.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestContract gives PostgreSQL the contract.
func TestContract(t *testing.T) {
	t.Parallel()
	addr := start(t)
	contract(t, addr, addr, false)
}

// TestPooler gives it to one behind a pooler in transaction mode. Debian 12 has PgBouncer 1.18, which ends itself at times
// when a query is cancelled (its issues 801 and 822, mended in 1.19).
func TestPooler(t *testing.T) {
	t.Parallel()
	addr := start(t)
	contract(t, addr, servers.PgBouncer(addr).Run(t, answers), true)
}

// contract gives the contract to a server that clients reach by another address.
func contract(t *testing.T, addr, front string, frail bool) {
	direct, err := pgx.Connect(t.Context(), "postgres://postgres@"+addr+"/postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close(context.Background())
	gate := make(chan struct{}, 1) // one connection is for one at a time
	with := func(do func(ctx context.Context) error) {
		gate <- struct{}{}
		defer func() { <-gate }()
		if err := do(context.Background()); err != nil {
			t.Error(err)
		}
	}
	t.Run("contract", func(t *testing.T) {
		clustertest.Run(t, clustertest.Engine{
			TTL: 4 * time.Second, Frail: frail,
			New: func(t testing.TB) cluster.Backend { return backend(t, front) },
			NewCut: func(t testing.TB) (cluster.Backend, func(), func()) {
				p := clustertest.NewProxy(t, front)
				return backend(t, p.Addr()), p.Cut, p.Heal
			},
			Break: func(_ testing.TB, name string) {
				with(func(ctx context.Context) error {
					_, err := direct.Exec(ctx, `UPDATE "so'le".lock SET nonce = NULL, session = NULL WHERE name = $1`, name)
					return err
				})
			},
			Writes: func(_ testing.TB, name string) (text string) {
				with(func(ctx context.Context) error {
					return direct.QueryRow(ctx, `SELECT ctid::text || xmin::text || xmax::text FROM "so'le".lock WHERE name = $1`, name).Scan(&text)
				})
				return text
			},
		})
	})
}

// counter counts statements that begin.
type counter struct{ atomic.Int64 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.Add(1)
	return ctx
}

func (c *counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestManyInOneStatement takes many locks, and some of them again while another has the rest.
func TestManyInOneStatement(t *testing.T) {
	t.Parallel()
	addr := start(t)
	target, err := cluster.ParseURL("postgres://postgres@"+addr+"/postgres", cluster.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := postgres.ConfigOf(target)
	if err != nil {
		t.Fatal(err)
	}
	statements := new(counter)
	config.Pool.ConnConfig.Tracer = statements
	b, err := postgres.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s, err := b.Grant(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(nonce string, n int) []cluster.Answer {
		var all []cluster.Request
		for i := range n {
			all = append(all, cluster.Request{Name: fmt.Sprint("lock ", i), Nonce: fmt.Sprint(nonce, i)})
		}
		return s.(cluster.Batcher).ClaimEach(t.Context(), all)
	}
	before := statements.Load()
	for i, a := range ask("first ", 300) {
		if a.Err != nil || a.Grant.Token != 1 || !a.Grant.Clean {
			t.Errorf("lock %d: %+v", i, a)
		}
	}
	if n := statements.Load() - before; n != 1 {
		t.Errorf("%d statements for 300 locks", n)
	}
	before = statements.Load()
	for i, a := range ask("second ", 310) {
		if free := i >= 300; free != (a.Err == nil) || !free && !errors.Is(a.Err, cluster.ErrHeld) {
			t.Errorf("lock %d: %+v", i, a)
		}
	}
	if n := statements.Load() - before; n != 2 { // and one that looks who has them
		t.Errorf("%d statements for 310 locks, 300 of them held", n)
	}
}

func TestConfigOf(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://bob@h1,[::1]:7/db":                 "h1 5432 db bob solehold false",
		"postgres://h/db?schema=x&create=0&user=a'b\\": `h 5432 db a'b\ x true`,
		"postgres://h/db?fast=1":                       "does not know",
	} {
		target, err := cluster.ParseURL(url, cluster.Sources{Env: func(string) string { return "s3cret" }})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		c, err := postgres.ConfigOf(target)
		if err != nil {
			got = err.Error()
		} else {
			p := c.Pool.ConnConfig
			got = fmt.Sprint(p.Host, " ", p.Port, " ", p.Database, " ", p.User, " ", c.Schema, " ", c.NoCreate)
			if p.Password != "s3cret" || strings.Contains(c.Pool.ConnString(), "s3cret") {
				t.Errorf("the password is %q, the text %q", p.Password, c.Pool.ConnString())
			}
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

// What the server would lose is said: it runs without fsync here. One that is not there is said too.
func TestExamine(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b := backend(t, start(t))
	defer b.Close()
	h := b.Examine(ctx)
	s := h.Servers[0]
	if s.Err != "" || s.Version == "" || s.Role != "primary" || s.Skew.Abs() > time.Minute || h.Latency <= 0 || len(h.Blocked)+len(h.Unread) > 0 {
		t.Errorf("%+v", h)
	}
	if len(h.Forgets) != 1 || !strings.HasPrefix(h.Forgets[0], "fsync is off") {
		t.Errorf("%q", h.Forgets)
	}
	away := backend(t, freeAddr(t))
	defer away.Close()
	if h := away.Examine(ctx); len(h.Servers) != 1 || h.Servers[0].Err == "" {
		t.Errorf("%+v", h)
	}
}
