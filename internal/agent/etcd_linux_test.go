package agent_test

import (
	"context"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/solehold/solehold/cluster"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// engine starts etcd in this process with short elections, so that leases of a few seconds are granted. It gives its
// address.
func engine(t *testing.T) string {
	t.Helper()
	e, err := startEtcd(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	<-e.Server.ReadyNotify()
	return e.Clients[0].Addr().String()
}

// starting keeps a free port free until it is used: tests run at once.
var starting sync.Mutex

func startEtcd(dir string) (*embed.Etcd, error) {
	starting.Lock()
	defer starting.Unlock()
	return startEtcdAt(dir, freeURL(), freeURL())
}

func startEtcdAt(dir string, client, peer url.URL) (*embed.Etcd, error) {
	c := embed.NewConfig()
	c.Name, c.Dir, c.Logger = "m", dir, "zap"
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.InitialCluster, c.TickMs, c.ElectionMs = "m="+peer.String(), 60, 600
	c.UnsafeNoFsync = true
	return embed.StartEtcd(c)
}

func freeURL() url.URL {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return url.URL{}
	}
	defer l.Close()
	return url.URL{Scheme: "http", Host: l.Addr().String()}
}

// claimKey is where the claim of a lock lies.
func claimKey(name string) string { return "/test/dir/claim/" + cluster.EscapeName(name) }

// put writes a key as another program would.
func put(t *testing.T, engine, key, value string) {
	t.Helper()
	by(t, engine, clientv3.OpPut(key, value))
}

// remove removes all keys that begin so.
func remove(t *testing.T, engine, prefix string) {
	t.Helper()
	by(t, engine, clientv3.OpDelete(prefix, clientv3.WithPrefix()))
}

func by(t *testing.T, engine string, op clientv3.Op) {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{engine}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Do(context.Background(), op); err != nil {
		t.Fatal(err)
	}
}
