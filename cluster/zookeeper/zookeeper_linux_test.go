package zookeeper_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/clustertest"
	"github.com/solehold/solehold/cluster/zookeeper"
	"github.com/solehold/solehold/internal/servers"
)

// start starts a ZooKeeper on a free port and gives its address.
func start(t *testing.T) string {
	t.Helper()
	return servers.ZooKeeper().Run(t, func(addr string) bool { return answers(t, addr) })
}

// answers reports whether sessions are given.
func answers(t *testing.T, addr string) bool {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	s, err := backend(t, addr).Grant(ctx, 4*time.Second)
	if err != nil {
		return false
	}
	return s.Revoke(ctx) == nil
}

func backend(t testing.TB, addr string) *zookeeper.Backend {
	t.Helper()
	target, err := cluster.ParseURL("zookeeper://"+addr+"/test/dir", cluster.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := zookeeper.ConfigOf(target)
	if err != nil {
		t.Fatal(err)
	}
	return zookeeper.New(c)
}

func node(name, leaf string) string { return "/test/dir/" + cluster.EscapeName(name) + "/" + leaf }

// TestContract gives ZooKeeper the contract.
func TestContract(t *testing.T) {
	addr := start(t)
	direct, _, err := zk.Connect([]string{addr}, 4*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	t.Run("renewals", func(t *testing.T) { renewals(t, addr, direct) })
	t.Run("granted time", func(t *testing.T) { grantedTime(t, addr) })
	t.Run("contract", func(t *testing.T) {
		clustertest.Run(t, clustertest.Engine{
			TTL: 3 * time.Second,
			New: func(t testing.TB) cluster.Backend { return backend(t, addr) },
			NewCut: func(t testing.TB) (cluster.Backend, func(), func()) {
				p := clustertest.NewProxy(t, addr)
				return backend(t, p.Addr()), p.Cut, p.Heal
			},
			Break: func(t testing.TB, name string) {
				if err := direct.Delete(node(name, "claim"), -1); err != nil {
					t.Fatal(err)
				}
			},
			Plant: func(t testing.TB, name string) {
				path := ""
				for part := range strings.SplitSeq(strings.Trim(node(name, "claim"), "/"), "/") {
					path += "/" + part
					if _, err := direct.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && err != zk.ErrNodeExists {
						t.Fatal(path, err)
					}
				}
			},
			Writes: func(t testing.TB, name string) string {
				_, a, err := direct.Get(node(name, "claim"))
				if err != nil {
					t.Fatal(err)
				}
				_, b, err := direct.Get(node(name, "last"))
				if err != nil {
					t.Fatal(err)
				}
				return fmt.Sprint(a.Mzxid, b.Mzxid)
			},
		})
	})
}

// renewals are seen by the leader and a quorum: each takes a zxid, which reads do not.
func renewals(t *testing.T, addr string, direct *zk.Conn) {
	b := backend(t, addr)
	defer b.Close()
	s, err := b.Grant(t.Context(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	zxid := func(path string) int64 {
		if _, err := direct.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		_, stat, err := direct.Exists(path)
		if err != nil {
			t.Fatal(err)
		}
		return stat.Czxid
	}
	before := zxid("/before")
	for range 3 {
		if gone, err := s.Renew(t.Context()); err != nil || len(gone) > 0 {
			t.Error(gone, err)
		}
	}
	if after := zxid("/after"); after != before+4 {
		t.Errorf("three renewals took %d zxids", after-before-1)
	}
	if err := s.Revoke(t.Context()); err != nil {
		t.Error(err)
	}
}

// grantedTime takes the time that the server grants, not the one that was asked for.
func grantedTime(t *testing.T, addr string) {
	t.Parallel()
	s, err := backend(t, addr).Grant(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if s.TTL() != 40*time.Second {
		t.Errorf("granted %v", s.TTL())
	}
	if err := s.Revoke(context.Background()); err != nil {
		t.Error(err)
	}
	c, err := cluster.New(backend(t, addr), cluster.Options{TTL: time.Minute, Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{}); err == nil || !strings.Contains(err.Error(), "does not work with the grace") {
		t.Errorf("a client took 40 s instead of a minute: %v", err)
	}
	c.Close(t.Context())
}

func TestConfigOf(t *testing.T) {
	for url, want := range map[string]string{
		"zookeeper://h1,h2:1/p":  "[h1:2181 h2:1] /p",
		"zookeeper://h?tls=1":    "does not speak it",
		"zookeeper://h?session=": "does not know",
	} {
		target, err := cluster.ParseURL(url, cluster.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := zookeeper.ConfigOf(target)
		got := fmt.Sprint(c.Servers, " ", c.Prefix)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

// A server says its version and its part; one that is not there, or is no ZooKeeper, is said too.
func TestExamine(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b := backend(t, start(t))
	defer b.Close()
	h := b.Examine(ctx)
	if s := h.Servers[0]; s.Err != "" || !strings.HasPrefix(s.Version, "3.") || s.Role != "standalone" || s.Alone || h.Latency <= 0 {
		t.Errorf("%+v", h)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			c.Close()
		}
	}()
	other := backend(t, l.Addr().String())
	if h := other.Examine(ctx); h.Servers[0].Err == "" || h.Latency != 0 {
		t.Errorf("of something else: %+v", h)
	}
	l.Close()
	if h := other.Examine(ctx); h.Servers[0].Err == "" {
		t.Errorf("of nothing: %+v", h)
	}
}
