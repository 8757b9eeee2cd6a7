package agent_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
)

const insideVar = "SOLEHOLD_AGENT_TEST_INSIDE" // this process has a network and mounts of its own

// Two hosts with a network each run a real service, of which there may be one. One host is cut off, its packets vanish: its
// service is dead before the other one starts, and after healing all of it is one history.
func TestHosts(t *testing.T) {
	testneed.Root(t)
	testneed.Program(t, "ip", "apt-get install iproute2")
	testneed.Program(t, "nsenter", "apt-get install util-linux")
	if os.Getenv(insideVar) == "" {
		t.Parallel()
		cmd := exec.Command("unshare", "--net", "--mount", os.Args[0], "-test.run=^TestHosts$", "-test.v")
		cmd.Env = append(os.Environ(), insideVar+"=1")
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Error(err)
		}
		return
	}
	first, second := network(t), networkHost(t, 2)
	first.service()
	one := first.lives()
	second.service("--wait", "forever")
	testneed.Until(t, "it does not wait", func() bool { return strings.Contains(second.run.stderr.String(), "waiting") })
	seen := watchServices(first, second)
	cutAt := cluster.SystemClock().Now()
	ip(t, "link", "set", "v1", "nomaster") // the first host is off the network
	two := second.lives()
	takenAt := cluster.SystemClock().Now()
	if code := first.run.ended(); code != lost && code != killed {
		t.Errorf("code %d: %s", code, first.run.stderr.String())
	}
	t.Logf("taken over %v after the cut; the services %d and %d", takenAt-cutAt, one, two)
	// Cut off it cannot start again, by itself or by hand.
	again := first.service()
	if code := again.ended(); code != 74 {
		t.Errorf("started while cut off: code %d: %s", code, again.stderr.String())
	}
	ip(t, "link", "set", "v1", "master", "hbr") // healed
	again = first.service("--wait", "forever")
	testneed.Until(t, "it does not wait", func() bool { return strings.Contains(again.stderr.String(), "waiting") })
	second.run.signal(syscall.SIGTERM)
	second.run.ended()
	three := first.lives()
	first.run.signal(syscall.SIGTERM)
	first.run.ended()
	if most := seen(); most != 1 {
		t.Errorf("at one time there were %d services", most)
	}
	if pids := []int{one, two, three}; one == two || two == three || one == three {
		t.Errorf("services %d", pids)
	}
	oneHistory(t, first, second)
}

// machine is one host and its service.
type machine struct {
	*host
	n   int
	kb  string
	run *run
}

// network makes the switch, the engine at it and the first host.
func network(t *testing.T) *machine {
	t.Helper()
	ip(t, "link", "set", "lo", "up")
	ip(t, "link", "add", "hbr", "type", "bridge")
	ip(t, "addr", "add", engineIP+"/24", "dev", "hbr")
	ip(t, "link", "set", "hbr", "up")
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", "/run", "tmpfs", 0, ""); err != nil { // ip netns keeps names there
		t.Fatal(err)
	}
	e, err := startEtcdAt(t.TempDir(), url.URL{Scheme: "http", Host: engineIP + ":2379"}, freeURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	<-e.Server.ReadyNotify()
	return networkHost(t, 1)
}

const engineIP = "10.77.0.254"

// networkHost makes a host on the switch.
func networkHost(t *testing.T, n int) *machine {
	t.Helper()
	name, cable := fmt.Sprint("h", n), fmt.Sprint("v", n)
	ip(t, "netns", "add", name)
	ip(t, "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", name)
	ip(t, "link", "set", cable, "master", "hbr", "up")
	ip(t, "-n", name, "addr", "add", fmt.Sprintf("10.77.0.%d/24", n), "dev", "eth0")
	ip(t, "-n", name, "link", "set", "eth0", "up")
	ip(t, "-n", name, "link", "set", "lo", "up")
	h := &host{t: t, name: "kb", base: t.TempDir(), at: engineIP + ":2379", through: []string{"nsenter", "--net=/run/netns/" + name}}
	h.dir = filepath.Join(h.base, "data")
	if err := os.Mkdir(h.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	kb := filepath.Join(h.base, "kb")
	if out, err := exec.Command("go", "build", "-o", kb, "../../examples/kb").CombinedOutput(); err != nil {
		t.Fatalf("%s%v", out, err)
	}
	return &machine{host: h, n: n, kb: kb}
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %q: %s%v", args, out, err)
	}
}

// service starts the run of the host's kb.
func (m *machine) service(flags ...string) *run {
	m.t.Helper()
	m.command = []string{m.kb, "-data", m.dir, "-addr", fmt.Sprintf("10.77.0.%d:8080", m.n), "-addr-file", m.kb + ".answers"}
	os.Remove(m.kb + ".answers") // a killed one leaves it
	m.run = m.start(flags...)
	return m.run
}

// services gives the pids of the host's kb.
func (m *machine) services() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		if pid, err := strconv.Atoi(filepath.Base(p)); err == nil {
			if exe, err := procfs.Default().Exe(pid); err == nil && exe == m.kb {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// lives waits until the host's kb answers there.
func (m *machine) lives() int {
	m.t.Helper()
	testneed.Until(m.t, "it does not answer: "+m.run.stderr.String(), func() bool {
		_, err := os.Stat(m.kb + ".answers")
		select {
		case <-m.run.done:
			m.t.Fatalf("the run ended: %s", m.run.stderr.String())
		default:
		}
		return err == nil
	})
	pids := m.services()
	if len(pids) != 1 {
		m.t.Fatalf("services %d", pids)
	}
	return pids[0]
}

// watchServices looks again and again how many services there are; the returned function gives the most at one time.
func watchServices(machines ...*machine) func() int {
	stop, most := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-stop:
				most <- n
				return
			}
			now := 0
			for _, m := range machines {
				now += len(m.services())
			}
			n = max(n, now)
		}
	}()
	return func() int { close(stop); return <-most }
}

// oneHistory puts the histories of all hosts together: the tokens of the cluster rise in the order of time. The engine has
// the same lives, and knows that the first one, which could write nothing, was found expired by the second.
func oneHistory(t *testing.T, machines ...*machine) {
	t.Helper()
	type event struct {
		Time         time.Time
		Kind, Detail string
	}
	var all []event
	told := map[int]int{} // by host: the tenures of all hosts that its directory tells of
	for _, m := range machines {
		_, text := exited(t, tool, "history", "--json", m.dir)
		for line := range strings.Lines(text) {
			var e event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err, line)
			}
			switch {
			case e.Kind == "acquired" && strings.HasPrefix(e.Detail, "lock of the cluster: "):
				all = append(all, e)
				told[m.n]++
			case e.Kind == "acquired" && strings.HasPrefix(e.Detail, "elsewhere: "):
				told[m.n]++
			}
		}
	}
	slices.SortFunc(all, func(a, b event) int { return a.Time.Compare(b.Time) })
	last := uint64(0)
	for _, e := range all {
		token := number(e.Detail[strings.LastIndex(e.Detail, " ")+1:])
		if token <= last {
			t.Errorf("token %d after %d: %+v", token, last, e)
		}
		last = token
	}
	if len(all) != 3 {
		t.Fatalf("%d tenures, want 3: %+v", len(all), all)
	}
	for _, m := range machines {
		if told[m.n] != len(all) {
			t.Errorf("the history of host %d has %d tenures, want %d", m.n, told[m.n], len(all))
		}
	}
	code, text := exited(t, tool, "history", "--json", "--cluster", machines[0].url(), "kb")
	lines := slices.Collect(strings.Lines(text))
	if code != 0 || len(lines) != len(all) {
		t.Fatalf("code %d: %s", code, text)
	}
	next := number(all[1].Detail[strings.LastIndex(all[1].Detail, " ")+1:])
	for i, want := range []cluster.Life{{End: cluster.Expired, Next: next}, {End: cluster.Released}, {End: cluster.Released}} {
		var l cluster.Life
		if err := json.Unmarshal([]byte(lines[i]), &l); err != nil {
			t.Fatal(err, lines[i])
		}
		token := number(all[i].Detail[strings.LastIndex(all[i].Detail, " ")+1:])
		if l.Token != token || l.End != want.End || l.Next != want.Next || l.Since == "" || l.Info == "" {
			t.Errorf("the engine has %s, want token %d and %+v", lines[i], token, want)
		}
	}
}
