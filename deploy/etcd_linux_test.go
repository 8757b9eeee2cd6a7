package deploy_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// memberVar makes this binary a member of etcd: each has metrics of its own.
const memberVar = "SOLEHOLD_DEPLOY_TEST_MEMBER"

// memberConfig is what a member is told.
type memberConfig struct{ Name, Dir, Client, Peer, Cluster string }

// member is etcd until its input ends.
func member(config string) error {
	var m memberConfig
	if err := json.Unmarshal([]byte(config), &m); err != nil {
		return err
	}
	client, peer := url.URL{Scheme: "http", Host: m.Client}, url.URL{Scheme: "http", Host: m.Peer}
	c := embed.NewConfig()
	c.Name, c.Dir, c.Logger = m.Name, m.Dir, "zap"
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.InitialCluster, c.UnsafeNoFsync = m.Cluster, false
	e, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	defer e.Close()
	io.Copy(io.Discard, os.Stdin)
	return nil
}

// startEtcd starts three members, and gives their client addresses.
func startEtcd(t *testing.T) []string {
	t.Helper()
	var members []memberConfig
	var cluster, clients []string
	for _, name := range []string{"a", "b", "c"} {
		m := memberConfig{Name: name, Dir: t.TempDir(), Client: freeAddr(t), Peer: freeAddr(t)}
		members, clients = append(members, m), append(clients, m.Client)
		cluster = append(cluster, name+"=http://"+m.Peer)
	}
	for _, m := range members {
		m.Cluster = strings.Join(cluster, ",")
		text, err := json.Marshal(m)
		must(t, err)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), memberVar+"="+string(text))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		must(t, err)
		must(t, cmd.Start())
		t.Cleanup(func() { in.Close(); cmd.Wait() })
	}
	for _, c := range clients {
		testneed.Until(t, "etcd at "+c+" has no leader", func() bool { return strings.Contains(get("http://"+c+"/metrics"), "\netcd_server_has_leader 1\n") })
	}
	return clients
}

// moveLeader makes another member the leader.
func moveLeader(t *testing.T, clients []string) {
	t.Helper()
	for _, addr := range clients {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
		must(t, err)
		st, err := c.Status(t.Context(), addr)
		if err == nil && st.Leader == st.Header.MemberId {
			all, err := c.MemberList(t.Context())
			must(t, err)
			for _, m := range all.Members {
				if m.ID != st.Leader {
					_, err = c.MoveLeader(t.Context(), m.ID)
					break
				}
			}
			c.Close()
			if err != nil {
				t.Log(err) // an election came between
			}
			return
		}
		c.Close()
	}
}

// TestEtcdTellsThem asks etcd itself for the metrics that rules and dashboards name.
func TestEtcdTellsThem(t *testing.T) {
	t.Parallel()
	at := "http://" + startEtcd(t)[0] + "/metrics"
	body := get(at)
	var names []string
	for _, d := range dashboards(t) {
		for _, q := range d.queries() {
			names = append(names, metricsIn(q)...)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^ +(?:expr: )?(.*etcd_.*)$`).FindAllStringSubmatch(read(t, "prometheus/alerts.yml"), -1) {
		names = append(names, regexp.MustCompile(`etcd_[a-z_]+`).FindAllString(m[1], -1)...)
	}
	seen := 0
	for _, name := range names {
		if !strings.HasPrefix(name, "etcd_") {
			continue
		}
		seen++
		testneed.Until(t, "etcd tells "+name, func() bool { // some only when there was something to tell
			if !strings.Contains(body, "\n"+name+"{") && !strings.Contains(body, "\n"+name+" ") {
				body = get(at)
				return false
			}
			return true
		})
	}
	if seen < 12 {
		t.Errorf("%d metrics of etcd are named", seen)
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// get is the body, or nothing.
func get(at string) string {
	r, err := http.Get(at)
	if err != nil {
		return ""
	}
	defer r.Body.Close()
	body, _ := io.ReadAll(r.Body)
	if r.StatusCode != http.StatusOK {
		return ""
	}
	return "\n" + string(body)
}
