package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
	"github.com/solehold/solehold/internal/testsystemd"
)

// documented gives the unit of docs/cluster.md.
func documented(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	_, unit, found := strings.Cut(string(text), "```ini\n")
	unit, _, closed := strings.Cut(unit, "```\n")
	if !found || !closed {
		t.Fatal("docs/cluster.md has no unit")
	}
	return unit
}

// The unit of the page works with a real systemd: a service starts after it, loses its lock with it, starts anew when it is
// back, and ends before it.
func TestSharedUnit(t *testing.T) {
	t.Parallel()
	etcd := engine(t)
	h := newHost(t, "kb", etcd)
	url := "etcd://" + etcd + "/solehold?ttl=" + ttl.String()
	unit := strings.ReplaceAll(documented(t), "/usr/bin/solehold-cluster", filepath.Join(filepath.Dir(tool), clusterProgram))
	const example = "etcd://a:2379,b:2379,c:2379/solehold?ttl=15s"
	if !strings.Contains(unit, example) {
		t.Fatal("it names another engine: ", unit)
	}
	unit = strings.ReplaceAll(unit, example, url)
	starts := filepath.Join(h.base, "starts")
	kb := fmt.Sprintf(`[Unit]
Wants=solehold-agent.service
After=solehold-agent.service
StartLimitIntervalSec=0
[Service]
ExecStart=%s run --cluster %s --cluster-agent /run/solehold/agent.sock --cluster-name kb --wait forever %s -- sh -c 'echo $$SOLEHOLD_TOKEN >>%s; exec sleep 1000'
Restart=always
RestartSec=200ms
`, tool, url, h.dir, starts)
	m := testsystemd.Boot(t, testsystemd.Options{
		Shared: []string{filepath.Dir(tool), h.base},
		Units:  map[string]string{"solehold-agent.service": unit, "kb.service": kb},
	})
	started := func(times int) {
		t.Helper()
		testneed.Until(t, "it does not start", func() bool {
			text, _ := os.ReadFile(starts)
			return strings.Count(string(text), "\n") == times
		})
	}
	m.Do("systemctl", "start", "kb")
	started(1)
	if n := leases(t, etcd); n != 1 {
		t.Errorf("%d leases", n)
	}
	m.Do("systemctl", "kill", "--signal", fmt.Sprint(int(syscall.SIGKILL)), "solehold-agent")
	started(2)
	text, err := os.ReadFile(starts)
	if tokens := strings.Fields(string(text)); err != nil || number(tokens[1]) <= number(tokens[0]) {
		t.Errorf("tokens %q, %v", text, err)
	}
	m.Do("systemctl", "stop", "kb", "solehold-agent")
	for _, name := range []string{"kb", "solehold-agent"} {
		if state := m.Show(name+".service", "ActiveState"); state != "inactive" {
			t.Errorf("%s is %s", name, state)
		}
	}
	if n := leases(t, etcd); n != 0 {
		t.Errorf("%d leases are left", n)
	}
}
