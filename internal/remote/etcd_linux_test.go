package remote_test

import (
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/etcd"
	"github.com/solehold/solehold/internal/remote"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

func freeURL(t *testing.T) url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return url.URL{Scheme: "http", Host: l.Addr().String()}
}

// startEtcd starts a real engine in this process.
func startEtcd(t *testing.T) (address string, end func()) {
	t.Helper()
	client, peer := freeURL(t), freeURL(t)
	c := embed.NewConfig()
	c.Name, c.Dir, c.Logger = "m", t.TempDir(), "zap"
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.InitialCluster, c.UnsafeNoFsync = "m="+peer.String(), true
	e, err := embed.StartEtcd(c)
	must(t, err)
	end = sync.OnceFunc(e.Close)
	t.Cleanup(end)
	<-e.Server.ReadyNotify()
	return client.Host, end
}

// A real engine and the real program: what a holder on another machine has is seen with
// its token, and when it is gone. When the engine is, its last answer stays, with the
// reason.
func TestEtcd(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "solehold-cluster")
	build := exec.Command("go", "build", "-o", program, "../../cmd/solehold-cluster")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	address, end := startEtcd(t)
	target, err := cluster.ParseURL("etcd://"+address+"/p", cluster.Sources{})
	must(t, err)
	config, err := etcd.ConfigOf(target)
	must(t, err)
	b, err := etcd.New(config)
	must(t, err)
	defer b.Close()
	session, err := b.Grant(t.Context(), patience)
	must(t, err)
	grant, err := session.Claim(t.Context(), cluster.Request{Name: "kb", Nonce: "n", Info: "kb on host db1, pid 12, /srv/kb", Since: "2026-01-02T03:04:05.678Z"})
	must(t, err)
	w, err := remote.New(program, []string{"etcd://" + address + "/p"}, patience/10)
	must(t, err)
	c := asked(t, w, func(c remote.Cluster) bool { return len(c.Locks) == 1 && c.Locks[0].Held() })
	if l := c.Locks[0]; l.Name != "kb" || l.Host != "db1" || l.Token != grant.Token || l.Until.IsZero() || !l.Since.Equal(time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)) {
		t.Errorf("%+v", l)
	}
	must(t, session.Release(t.Context(), cluster.Claim{Name: "kb", Nonce: "n", Token: grant.Token}, true))
	asked(t, w, func(c remote.Cluster) bool { return len(c.Locks) == 1 && !c.Locks[0].Held() })
	end()
	c = asked(t, w, func(c remote.Cluster) bool { return c.Trouble != "" })
	if len(c.Locks) != 1 || c.Locks[0].Name != "kb" || c.Answered.IsZero() {
		t.Errorf("%+v", c)
	}
}
