package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/clustertest"
	"github.com/solehold/solehold/cluster/redis"
	"github.com/solehold/solehold/internal/servers"
)

// start starts a redis-server on a free port and gives its address.
func start(t *testing.T) string {
	t.Helper()
	return servers.Redis().Run(t, func(addr string) bool {
		c := goredis.NewClient(&goredis.Options{Addr: addr})
		defer c.Close()
		return c.Ping(context.Background()).Err() == nil
	})
}

func backend(t testing.TB, addr string) *redis.Backend {
	t.Helper()
	target, err := cluster.ParseURL("redis://"+addr+"/test", cluster.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := redis.ConfigOf(target)
	if err != nil {
		t.Fatal(err)
	}
	return redis.New(c)
}

func key(name, what string) string { return "test:{" + cluster.EscapeName(name) + "}:" + what }

// TestContract gives Redis the contract.
func TestContract(t *testing.T) {
	addr := start(t)
	direct := goredis.NewClient(&goredis.Options{Addr: addr})
	t.Cleanup(func() { direct.Close() })
	clustertest.Run(t, engine(direct, func(t testing.TB) cluster.Backend { return backend(t, addr) },
		func(t testing.TB) (cluster.Backend, func(), func()) {
			p := clustertest.NewProxy(t, addr)
			return backend(t, p.Addr()), p.Cut, p.Heal
		}))
}

// engine is what the contract is tried on, with a client that does what others may do there.
func engine(direct goredis.UniversalClient, open func(testing.TB) cluster.Backend, cut func(testing.TB) (cluster.Backend, func(), func())) clustertest.Engine {
	ctx := context.Background()
	return clustertest.Engine{
		New: open, NewCut: cut,
		Break: func(t testing.TB, name string) {
			if err := direct.Del(ctx, key(name, "claim")).Err(); err != nil {
				t.Fatal(err)
			}
		},
		Plant: func(t testing.TB, name string) {
			if err := direct.LPush(ctx, key(name, "claim"), "of another program").Err(); err != nil {
				t.Fatal(err)
			}
		},
		Writes: func(t testing.TB, name string) string {
			all, err := direct.MGet(ctx, key(name, "claim"), key(name, "last"), key(name, "token")).Result()
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(all...)
		},
	}
}

// TestEmptyClaim shows that an empty text in the place of a claim is seen as what it is for who asks: somebody else's.
func TestEmptyClaim(t *testing.T) {
	addr := start(t)
	direct := goredis.NewClient(&goredis.Options{Addr: addr})
	defer direct.Close()
	if err := direct.Set(t.Context(), key("a", "claim"), "", 0).Err(); err != nil {
		t.Fatal(err)
	}
	b := backend(t, addr)
	defer b.Close()
	seen, err := b.Look(t.Context(), "a")
	if err != nil || len(seen) != 1 || !seen[0].Held || !seen[0].Foreign {
		t.Errorf("%+v, %v", seen, err)
	}
}

// TestDataLoss is what the documentation says: after FLUSHALL tokens begin anew, the holder is told, and a floor refuses;
// who has waited for the holder does not get its token.
func TestDataLoss(t *testing.T) {
	addr := start(t)
	c, err := cluster.New(backend(t, addr), cluster.Options{TTL: 2 * time.Second, Delay: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	var last uint64
	for range 3 {
		l, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{Floor: last})
		if err != nil {
			t.Fatal(err)
		}
		last = l.Token()
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{Floor: last})
	if err != nil {
		t.Fatal(err)
	}
	other, err := cluster.New(backend(t, addr), cluster.Options{TTL: 2 * time.Second, Delay: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	waits, refused := make(chan struct{}, 100), make(chan error, 1)
	go func() {
		l, err := other.Acquire(t.Context(), "a", cluster.AcquireOptions{Wait: true, OnWait: func(*cluster.HeldError) { waits <- struct{}{} }})
		if err == nil {
			l.Release(context.Background())
		}
		refused <- err
	}()
	<-waits
	direct := goredis.NewClient(&goredis.Options{Addr: addr})
	defer direct.Close()
	if err := direct.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := <-refused; !errors.Is(err, cluster.ErrToken) {
		t.Errorf("who has waited: %v", err)
	}
	<-l.Context().Done()
	l.Release(t.Context())
	if _, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{Floor: l.Token()}); err == nil {
		t.Error("a token that was given before the loss was given again")
	}
}

func TestConfigOf(t *testing.T) {
	for url, want := range map[string]string{
		"redis://h1,h2/p/q?master=m&db=2": "[h1:26379 h2:26379] p/q m false 2",
		"redis://h1:1,h2?cluster=1":       "[h1:1 h2:6379] solehold  true 0",
		"redis://h?db=x":                  "db is a number",
		"redis://h?ca=/x":                 "takes tls=1",
		"redis://h?fast=1":                "does not know",
	} {
		target, err := cluster.ParseURL(url, cluster.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := redis.ConfigOf(target)
		got := fmt.Sprint(c.Addrs, " ", c.Prefix, " ", c.Master, " ", c.Cluster, " ", c.DB)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

// What the server would lose is said, and what it cannot do; a server that is not there is said too.
func TestExamine(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	addr := start(t)
	direct := goredis.NewClient(&goredis.Options{Addr: addr})
	t.Cleanup(func() { direct.Close() })
	b := backend(t, addr)
	defer b.Close()
	set := func(key, value string) {
		t.Helper()
		if err := direct.ConfigSet(ctx, key, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ key, value, want string }{
		{"appendonly", "no", "appendonly is off"},
		{"appendonly", "yes", "appendfsync is everysec"},
		{"appendfsync", "always", ""},
		{"maxmemory", "100mb", ""},
		{"maxmemory-policy", "allkeys-lru", "maxmemory-policy is allkeys-lru"},
	} {
		set(c.key, c.value)
		h := b.Examine(ctx)
		if got := strings.Join(h.Forgets, "\n"); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" || len(h.Blocked)+len(h.Unread) > 0 {
			t.Errorf("%s %s: %+v", c.key, c.value, h)
		}
		if s := h.Servers[0]; s.Role != "master" || s.Version == "" || s.Used <= 0 || s.Err != "" || s.Skew.Abs() > time.Minute || h.Latency <= 0 {
			t.Errorf("%+v", h)
		}
	}
	if h := b.Examine(ctx); h.Servers[0].Limit != 100<<20 {
		t.Errorf("%+v", h)
	}
	if err := direct.ReplicaOf(ctx, "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if h := b.Examine(ctx); len(h.Blocked) != 1 || !strings.Contains(h.Blocked[0], "replica") {
		t.Errorf("%+v", h)
	}
	away := backend(t, "127.0.0.1:1")
	defer away.Close()
	if h := away.Examine(ctx); len(h.Servers) != 1 || h.Servers[0].Err == "" {
		t.Errorf("%+v", h)
	}
}

// TestManyInOnePipeline counts how often the server has to read for a hundred locks.
func TestManyInOnePipeline(t *testing.T) {
	addr := start(t)
	direct := goredis.NewClient(&goredis.Options{Addr: addr})
	defer direct.Close()
	reads := func() (n int) {
		t.Helper()
		text, err := direct.Info(t.Context(), "stats").Result()
		_, after, ok := strings.Cut(text, "total_reads_processed:")
		if !ok || err != nil {
			t.Fatal(text, err)
		}
		fmt.Sscan(after, &n)
		return n
	}
	c, err := cluster.New(backend(t, addr), cluster.Options{TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprint("lock ", i)
	}
	before := reads()
	leases, errs := c.AcquireEach(t.Context(), names, cluster.AcquireOptions{})
	n := reads() - before
	for i, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
		defer leases[i].Release(t.Context())
	}
	if n > len(names)/2 { // it reads 16 KiB at a time, and more for others who asked for this
		t.Errorf("%d reads for %d locks", n, len(names))
	}
}
