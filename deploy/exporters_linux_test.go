package deploy_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/testneed"
)

// asks are the queries of the dashboard of the engines that are about one of them.
func asks(t *testing.T, engine string) (all []string) {
	t.Helper()
	for _, p := range dashboards(t)["engines.json"].Panels {
		for _, q := range p.Targets {
			if strings.Contains(q.Expr, "$"+engine) {
				all = append(all, q.Expr)
			}
		}
	}
	if len(all) < 4 {
		t.Fatalf("%d queries about %s", len(all), engine)
	}
	return all
}

// background runs a program until the test ends.
func background(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGINT)
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %s", cmd.Path, out.String())
		}
	})
}

// told checks that an exporter tells everything that the dashboard asks for, once it
// tells that the engine is up.
func told(t *testing.T, engine, address, up string) {
	t.Helper()
	text := ""
	testneed.Until(t, engine+" is not up", func() bool {
		text = get("http://" + address + "/metrics")
		return strings.Contains(text, "\n"+up+" 1\n")
	})
	for _, q := range asks(t, engine) {
		for _, name := range metricsIn(strings.ReplaceAll(q, "$__rate_interval", "1m")) {
			if !regexp.MustCompile(`\n` + name + `[ {]`).MatchString(text) {
				t.Errorf("nobody tells %s", name)
			}
		}
	}
}

// A real Redis, through the exporter.
func TestRedisTellsThem(t *testing.T) {
	t.Parallel()
	server := testneed.Program(t, "redis-server", "apt-get install redis-server")
	exporter := testneed.Program(t, "prometheus-redis-exporter", "apt-get install prometheus-redis-exporter")
	redis, at := freeAddr(t), freeAddr(t)
	_, port, _ := net.SplitHostPort(redis)
	background(t, exec.Command(server, "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", ""))
	background(t, exec.Command(exporter, "-redis.addr", "redis://"+redis, "-web.listen-address", at))
	told(t, "redis", at, "redis_up")
}

// A real PostgreSQL, through the exporter.
func TestPostgresTellsThem(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	exporter := testneed.Program(t, "prometheus-postgres-exporter", "apt-get install prometheus-postgres-exporter")
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	testneed.Feature(t, len(found) > 0, "postgresql", "apt-get install postgresql")
	u, err := user.Lookup("postgres")
	must(t, err)
	uid, _ := strconv.Atoi(u.Uid)
	base, err := os.MkdirTemp("", "pg-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	must(t, os.Chown(base, uid, -1))
	as := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.SysProcAttr = base, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid)}}
		return cmd
	}
	dir := filepath.Join(base, "data")
	if out, err := as(found[0], "-D", dir, "-A", "trust", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	pg, at := freeAddr(t), freeAddr(t)
	_, port, _ := net.SplitHostPort(pg)
	background(t, as(filepath.Join(filepath.Dir(found[0]), "postgres"), "-D", dir, "-k", base, "-h", "127.0.0.1", "-p", port, "-F"))
	cmd := exec.Command(exporter, "--web.listen-address", at)
	cmd.Env = append(os.Environ(), "DATA_SOURCE_NAME=postgresql://postgres@"+pg+"/postgres?sslmode=disable")
	background(t, cmd)
	told(t, "postgres", at, "pg_up")
}

// A real ZooKeeper. Its provider for Prometheus is not in Debian; `mntr` tells the same
// figures: a gauge or counter x as zk_x, a summary x as zk_cnt_x and zk_sum_x, and one
// that has other quantiles than the middle as zk_p99_x besides.
func TestZooKeeperTellsThem(t *testing.T) {
	t.Parallel()
	const jar = "/usr/share/java/zookeeper.jar"
	java := testneed.Program(t, "java", "apt-get install default-jre-headless")
	_, err := os.Stat(jar)
	testneed.Feature(t, err == nil, "zookeeper", "apt-get install zookeeper")
	address, dir := freeAddr(t), t.TempDir()
	host, port, _ := net.SplitHostPort(address)
	config := filepath.Join(dir, "zoo.cfg")
	must(t, os.WriteFile(config, fmt.Appendf(nil, "dataDir=%s\nclientPort=%s\nclientPortAddress=%s\nadmin.enableServer=false\n4lw.commands.whitelist=mntr\n", dir, port, host), 0o600))
	background(t, exec.Command(java, "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", jar, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config))
	text := ""
	testneed.Until(t, "zookeeper does not tell", func() bool { text = monitor(address); return strings.Contains(text, "\nzk_znode_count\t") })
	for _, q := range asks(t, "zookeeper") {
		for _, m := range regexp.MustCompile(`([a-z_]+)\{job=~"\$zookeeper"(?:,quantile="([0-9.]+)")?`).FindAllStringSubmatch(q, -1) {
			if want := asMonitored(m[1], m[2]); !strings.Contains(text, "\n"+want+"\t") {
				t.Errorf("there is no %s, which is how mntr tells %s", want, m[0])
			}
		}
	}
	for _, planted := range [][2]string{{"fsynctime", "0.99"}, {"readlatency", ""}, {"no_such", ""}} {
		if strings.Contains(text, "\n"+asMonitored(planted[0], planted[1])+"\t") {
			t.Errorf("%v was found", planted)
		}
	}
}

// asMonitored is how mntr calls a metric of the provider for Prometheus.
func asMonitored(name, quantile string) string {
	base, sum := strings.CutSuffix(name, "_sum")
	base, count := strings.CutSuffix(base, "_count")
	switch {
	case sum:
		return "zk_sum_" + base
	case count && base != "znode" && base != "watch":
		return "zk_cnt_" + base
	case quantile == "0.5":
		return "zk_cnt_" + name
	case quantile != "":
		return "zk_p99_" + name
	}
	return "zk_" + name
}

// monitor is the answer to mntr, or nothing.
func monitor(address string) string {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return ""
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Second)) // a server that is just starting may never answer
	io.WriteString(c, "mntr")
	text, _ := io.ReadAll(c)
	return "\n" + string(text)
}
