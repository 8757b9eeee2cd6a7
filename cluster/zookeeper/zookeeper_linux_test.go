package zookeeper_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/clustertest"
	"github.com/solehold/solehold/cluster/zookeeper"
	"github.com/solehold/solehold/internal/testneed"
)

// start starts a ZooKeeper on a free port and gives its address.
func start(t *testing.T) string {
	t.Helper()
	const jar = "/usr/share/java/zookeeper.jar"
	java := testneed.Program(t, "java", "apt-get install default-jre-headless")
	_, err := os.Stat(jar)
	testneed.Feature(t, err == nil, "zookeeper", "apt-get install zookeeper")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	host, port, _ := net.SplitHostPort(addr)
	dir := t.TempDir()
	config := fmt.Sprintf("tickTime=200\ndataDir=%s\nclientPort=%s\nclientPortAddress=%s\nmaxClientCnxns=0\nmaxSessionTimeout=40000\nadmin.enableServer=false\n", dir, port, host)
	file := filepath.Join(dir, "zoo.cfg")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(java, "-Xmx256m", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no", "-cp", jar, "org.apache.zookeeper.server.quorum.QuorumPeerMain", file)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	late := time.After(60 * time.Second)
	for {
		if answers(t, addr) {
			return addr
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-late:
			t.Fatalf("zookeeper does not start\n%s", &out)
		}
	}
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
