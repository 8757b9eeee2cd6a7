package etcd_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/clustertest"
	"github.com/solehold/solehold/cluster/etcd"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// patience bounds each wait.
const patience = 60 * time.Second

// start starts members in this process, on free ports, with short elections: leases of a second are granted.
func start(t testing.TB, members int) []*embed.Etcd {
	t.Helper()
	return startWith(t, members, func(*embed.Config) {})
}

func startWith(t testing.TB, members int, change func(*embed.Config)) []*embed.Etcd {
	t.Helper()
	var configs []*embed.Config
	var initial []string
	for i := range members {
		c, err := member(fmt.Sprintf("m%d", i), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		configs, initial = append(configs, c), append(initial, c.InitialCluster)
	}
	var all []*embed.Etcd
	for _, c := range configs {
		c.InitialCluster = strings.Join(initial, ",")
		change(c)
		e, err := embed.StartEtcd(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			select {
			case <-e.Server.StopNotify(): // a test has closed it
			default:
				e.Close()
			}
		})
		all = append(all, e)
	}
	for _, e := range all {
		select {
		case <-e.Server.ReadyNotify():
		case <-time.After(patience):
			t.Fatal("etcd does not start")
		}
	}
	return all
}

// member is one on free ports, alone so far.
func member(name, dir string) (*embed.Config, error) {
	client, err := freeURL()
	if err != nil {
		return nil, err
	}
	peer, err := freeURL()
	if err != nil {
		return nil, err
	}
	c := embed.NewConfig()
	c.Name, c.Dir, c.Logger = name, dir, "zap"
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.InitialCluster, c.TickMs, c.ElectionMs = name+"="+peer.String(), 60, 600
	c.UnsafeNoFsync = true
	return c, nil
}

func freeURL() (url.URL, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return url.URL{}, err
	}
	defer l.Close()
	return url.URL{Scheme: "http", Host: l.Addr().String()}, nil
}

func addr(e *embed.Etcd) string { return e.Clients[0].Addr().String() }

func addrs(all []*embed.Etcd) (hosts []string) {
	for _, e := range all {
		hosts = append(hosts, addr(e))
	}
	return hosts
}

// backend makes a client by a URL.
func backend(t testing.TB, hosts ...string) *etcd.Backend {
	t.Helper()
	target, err := cluster.ParseURL("etcd://"+strings.Join(hosts, ",")+"/test/dir", cluster.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := etcd.ConfigOf(target)
	if err != nil {
		t.Fatal(err)
	}
	b, err := etcd.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// raw is a client that knows nothing of locks.
func raw(t testing.TB, host string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{host}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func claimKey(name string) string { return "/test/dir/claim/" + cluster.EscapeName(name) }
func lastKey(name string) string  { return "/test/dir/last/" + cluster.EscapeName(name) }

// TestContract gives etcd the contract.
func TestContract(t *testing.T) {
	t.Parallel()
	server := start(t, 1)[0]
	direct := raw(t, addr(server))
	clustertest.Run(t, clustertest.Engine{
		TTL: 3 * time.Second,
		New: func(t testing.TB) cluster.Backend { return backend(t, addr(server)) },
		NewCut: func(t testing.TB) (cluster.Backend, func(), func()) {
			p := clustertest.NewProxy(t, addr(server))
			return backend(t, p.Addr()), p.Cut, p.Heal
		},
		Break: func(t testing.TB, name string) {
			if _, err := direct.Delete(context.Background(), claimKey(name)); err != nil {
				t.Fatal(err)
			}
		},
		Plant: func(t testing.TB, name string) {
			if _, err := direct.Put(context.Background(), claimKey(name), ""); err != nil {
				t.Fatal(err)
			}
		},
		Writes: func(t testing.TB, name string) string {
			a, err := direct.Get(context.Background(), claimKey(name))
			if err != nil {
				t.Fatal(err)
			}
			b, err := direct.Get(context.Background(), lastKey(name))
			if err != nil || len(a.Kvs)+len(b.Kvs) < 2 {
				t.Fatal(err)
			}
			return fmt.Sprint(a.Kvs[0].ModRevision, b.Kvs[0].ModRevision)
		},
	})
}
