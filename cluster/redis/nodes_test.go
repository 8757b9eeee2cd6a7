package redis_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/clustertest"
	"github.com/solehold/solehold/cluster/redis"
	"github.com/solehold/solehold/internal/servers"
	"github.com/solehold/solehold/internal/testneed"
)

// with is a redis-server with more lines in its configuration.
func with(lines ...string) servers.Kind {
	k := servers.Redis()
	k.Command = func(dir, addr string, _ *bytes.Buffer) (*exec.Cmd, error) {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		file := filepath.Join(dir, "redis.conf")
		all := append([]string{"bind " + host, "port " + port, "dir " + dir, `save ""`, "appendonly no"}, lines...)
		args := []string{file}
		if strings.HasPrefix(lines[0], "sentinel ") {
			args, all = append(args, "--sentinel"), append(all[:3:3], lines...)
		}
		return exec.Command("redis-server", args...), os.WriteFile(file, []byte(strings.Join(all, "\n")+"\n"), 0o600)
	}
	return k
}

// running starts a server, which a test may end before its time.
func running(t *testing.T, k servers.Kind) *servers.Server {
	t.Helper()
	missing := k.Missing()
	testneed.Feature(t, missing == "", missing, k.Get)
	s, err := k.Start(t.TempDir(), pings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func pings(addr string) bool {
	c := goredis.NewClient(&goredis.Options{Addr: addr})
	defer c.Close()
	return c.Ping(context.Background()).Err() == nil
}

// of opens what a URL names.
func of(t testing.TB, url string, dial func(context.Context, string, string) (net.Conn, error)) *redis.Backend {
	t.Helper()
	target, err := cluster.ParseURL(url, cluster.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := redis.ConfigOf(target)
	if err != nil {
		t.Fatal(err)
	}
	c.Dial = dial
	return redis.New(c)
}

// TestSentinel kills the master while a lock is held: the replica that the Sentinel makes the next one has the claim, its
// holder works on, and the tokens rise.
func TestSentinel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	master := running(t, servers.Redis())
	host, port, _ := net.SplitHostPort(master.Addr)
	replica := running(t, with("replicaof "+host+" "+port, "repl-diskless-sync-delay 0"))
	sentinel := running(t, with("sentinel monitor kb "+host+" "+port+" 1",
		"sentinel down-after-milliseconds kb 2000", "sentinel failover-timeout kb 5000"))
	ask := goredis.NewSentinelClient(&goredis.Options{Addr: sentinel.Addr})
	defer ask.Close()
	testneed.Until(t, "the Sentinel does not see the replica", func() bool {
		all, err := ask.Replicas(ctx, "kb").Result()
		return err == nil && len(all) == 1 && all[0]["master-link-status"] == "ok"
	})
	var clients [2]*cluster.Client
	for i := range clients {
		c, err := cluster.New(of(t, "redis://"+sentinel.Addr+"/test?master=kb", nil), cluster.Options{TTL: 30 * time.Second, Delay: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(ctx)
		clients[i] = c
	}
	l, err := clients[0].Acquire(ctx, "a", cluster.AcquireOptions{})
	if err != nil {
		t.Fatal(err)
	}
	direct := goredis.NewClient(&goredis.Options{Addr: master.Addr})
	defer direct.Close()
	if n, err := direct.Wait(ctx, 1, 10*time.Second).Result(); n != 1 {
		t.Fatal(n, err)
	}
	master.Close()
	testneed.Until(t, "there is no other master", func() bool {
		at, err := ask.GetMasterAddrByName(ctx, "kb").Result()
		return err == nil && net.JoinHostPort(at[0], at[1]) == replica.Addr
	})
	next := goredis.NewClient(&goredis.Options{Addr: replica.Addr})
	defer next.Close()
	left := func() time.Duration { return next.PTTL(ctx, key("a", "claim")).Val() }
	testneed.Until(t, "the claim is not renewed at the new master", func() bool { return left() > 29*time.Second })
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
	if _, err := clients[1].Acquire(ctx, "a", cluster.AcquireOptions{}); err == nil {
		t.Fatal("two owners")
	}
	if err := l.Release(ctx); err != nil {
		t.Fatal(err)
	}
	after, err := clients[1].Acquire(ctx, "a", cluster.AcquireOptions{Floor: l.Token()})
	if err != nil {
		t.Fatal(err)
	}
	if err := after.Release(ctx); err != nil {
		t.Fatal(err)
	}
}

// nodes starts a Cluster of three, and gives their addresses.
func nodes(t *testing.T) (all []string) {
	t.Helper()
	const slots, count = 16384, 3
	ctx := context.Background()
	var first *goredis.Client
	for i := range count {
		bus := testneed.Port(t)
		addr := running(t, with("cluster-enabled yes", "cluster-port "+strconv.Itoa(bus))).Addr
		all = append(all, addr)
		c := goredis.NewClient(&goredis.Options{Addr: addr})
		defer c.Close()
		if err := c.ClusterAddSlotsRange(ctx, slots*i/count, slots*(i+1)/count-1).Err(); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = c
			continue
		}
		host, port, _ := net.SplitHostPort(addr)
		if err := first.Do(ctx, "cluster", "meet", host, port, bus).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, addr := range all {
		c := goredis.NewClient(&goredis.Options{Addr: addr})
		defer c.Close()
		testneed.Until(t, "the nodes are no cluster", func() bool {
			info, err := c.ClusterInfo(ctx).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprint("cluster_known_nodes:", count))
		})
	}
	return all
}

// TestNodes gives the contract to a Cluster of three nodes.
func TestNodes(t *testing.T) {
	t.Parallel()
	all := nodes(t)
	url := "redis://" + strings.Join(all, ",") + "/test?cluster=1"
	direct := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: all})
	ctx := context.Background()
	t.Cleanup(func() { direct.Close() })
	t.Run("contract", func(t *testing.T) {
		clustertest.Run(t, engine(direct, func(t testing.TB) cluster.Backend { return of(t, url, nil) },
			func(t testing.TB) (cluster.Backend, func(), func()) {
				proxies := map[string]*clustertest.Proxy{}
				for _, addr := range all {
					proxies[addr] = clustertest.NewProxy(t, addr)
				}
				dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
					return new(net.Dialer).DialContext(ctx, network, proxies[addr].Addr())
				}
				each := func(do func(*clustertest.Proxy)) func() {
					return func() {
						for _, p := range proxies {
							do(p)
						}
					}
				}
				return of(t, url, dial), each((*clustertest.Proxy).Cut), each((*clustertest.Proxy).Heal)
			}))
	})
	b := of(t, url, nil)
	defer b.Close()
	s, err := b.Grant(ctx, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if _, err := s.Claim(ctx, cluster.Request{Name: fmt.Sprint("lock ", i), Nonce: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	seen, err := b.Look(ctx, "")
	held := 0
	for _, s := range seen {
		if strings.HasPrefix(s.Name, "lock ") && s.Held {
			held++
		}
	}
	if err != nil || held != 20 {
		t.Errorf("of 20 locks on three nodes %d are seen: %v", held, err)
	}
}
