package redis_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/clustertest"
	"github.com/solehold/solehold/cluster/redis"
	"github.com/solehold/solehold/internal/testneed"
)

// start starts a redis-server on a free port and gives its address.
func start(t *testing.T) string {
	t.Helper()
	path := testneed.Program(t, "redis-server", "apt-get install redis-server")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, port, _ := strings.Cut(addr, ":")
	cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	c := goredis.NewClient(&goredis.Options{Addr: addr})
	defer c.Close()
	late := time.After(60 * time.Second)
	for c.Ping(context.Background()).Err() != nil {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-late:
			t.Fatal("redis-server does not start")
		}
	}
	return addr
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
	ctx := context.Background()
	clustertest.Run(t, clustertest.Engine{
		New: func(t testing.TB) cluster.Backend { return backend(t, addr) },
		NewCut: func(t testing.TB) (cluster.Backend, func(), func()) {
			p := clustertest.NewProxy(t, addr)
			return backend(t, p.Addr()), p.Cut, p.Heal
		},
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
	})
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

// TestDataLoss is what the documentation says: after FLUSHALL tokens begin anew, the holder is told, and a floor refuses.
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
	direct := goredis.NewClient(&goredis.Options{Addr: addr})
	defer direct.Close()
	if err := direct.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
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
