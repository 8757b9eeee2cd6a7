package agent_test

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/agent"
	"github.com/solehold/solehold/internal/testneed"
)

// redis starts a redis-server on a free port and gives its address.
func redis(t *testing.T) string {
	t.Helper()
	path := testneed.Program(t, "redis-server", "apt-get install redis-server")
	starting.Lock()
	defer starting.Unlock()
	addr := freeURL().Host
	_, port, _ := strings.Cut(addr, ":")
	cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	testneed.Until(t, "redis-server does not start", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return addr
}

// direct opens an engine without an agent.
func direct(t *testing.T, url string) cluster.Backend {
	t.Helper()
	target, err := cluster.ParseURL(url, cluster.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := agent.Engine(target)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// One agent keeps locks at two engines, each with a client of its own: what happens to one engine is nothing to the runs at
// the other. When the agent dies all of them end in time.
func TestSharedByTwoEngines(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", redis(t))
	first, second := "redis://"+h.proxy.Addr()+"/test?ttl="+ttl.String(), "etcd://"+engine(t)+"/test/dir?ttl="+ttl.String()
	s := share(t, h.base, first, "--cluster", second)
	runs := map[string][]*run{}
	for _, url := range []string{first, second} {
		for i := range 3 {
			r := newHost(t, fmt.Sprint("lock ", i), "127.0.0.1:1")
			r.shared, r.fixedURL = s, url
			runs[url] = append(runs[url], r.start("--", "stubborn"))
		}
		for _, r := range runs[url] {
			r.works()
		}
	}
	runs[first][0].signal(syscall.SIGKILL) // its tree is stopped, and then its lock given back
	runs[first][0].ended()
	begin := cluster.SystemClock().Now()
	again := newHost(t, "lock 0", "127.0.0.1:1")
	again.shared, again.fixedURL = s, first
	r := again.start("--wait", "forever")
	if took := r.works().Owned - begin; took < 0 || runs[first][0].acted() > r.works().Owned {
		t.Errorf("owned after %v, and the one before has acted since", took)
	}
	h.proxy.Cut()
	for _, r := range append(runs[first][1:], r) {
		if code := r.ended(); code != lost && code != killed {
			t.Errorf("code %d: %s", code, r.stderr.String())
		}
	}
	from := runs[second][0].acted()
	testneed.Until(t, "a run at another engine was hurt", func() bool { return runs[second][0].acted() > from })
	s.signal(syscall.SIGKILL)
	at := cluster.SystemClock().Now()
	last := time.Duration(0)
	for _, r := range runs[second] {
		if code := r.ended(); code != lost {
			t.Errorf("code %d: %s", code, r.stderr.String())
		}
		last = max(last, r.acted()-at)
	}
	if t.Logf("the last act came %v after the agent was killed, with a ttl of %v", last, ttl); last >= ttl {
		t.Error("a command worked on without a lock")
	}
}

// What an agent's URL says beside hosts and prefix holds for its runs: their locks are those of who says the same to an
// agent of its own.
func TestSharedWithParameters(t *testing.T) {
	t.Parallel()
	addr := redis(t)
	url := "redis://" + addr + "/test?db=3&ttl=" + ttl.String()
	start := func(s *shared, url string) *run {
		h := newHost(t, "x", "127.0.0.1:1")
		h.shared, h.fixedURL = s, url
		return h.start()
	}
	s := share(t, t.TempDir(), url)
	owner := start(s, url)
	owner.works()
	second := start(nil, url)
	if code := second.ended(); code != 0 || second.started() || !strings.Contains(second.stderr.String(), "already has its owner") {
		t.Errorf("the same lock by another agent: code %d: %s", code, second.stderr.String())
	}
	for _, param := range []string{"db=4&", "db=0&", ""} {
		other := start(s, strings.Replace(url, "db=3&", param, 1))
		if code := other.ended(); code != 64 || other.started() || !strings.Contains(other.stderr.String(), "say the same") {
			t.Errorf("%q: code %d: %s", param, code, other.stderr.String())
		}
	}
	owner.signal(syscall.SIGTERM)
	owner.ended()
}

// The record of a run has the key of its claim as the engine has it: the page of a host finds its own locks by that.
func TestKeyInTheRecord(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"redis": "redis://" + redis(t) + "/test?ttl=" + ttl.String(), "etcd": "etcd://" + engine(t) + "/test/dir?ttl=" + ttl.String(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, "a b", "127.0.0.1:1")
			h.fixedURL = url
			r := h.start()
			r.works()
			state, err := solehold.Inspect(t.Context(), h.dir, nil)
			if err != nil || state.Record.Cluster == nil {
				t.Fatalf("%+v, %v", state, err)
			}
			b := direct(t, url)
			defer b.Close()
			all, err := b.(cluster.Operator).Look(t.Context(), h.name)
			if got := state.Record.Cluster; err != nil || len(all) != 1 || got.Key != all[0].Key || got.Token != all[0].Token {
				t.Errorf("%+v is recorded, and %+v there: %v", got, all, err)
			}
			r.signal(syscall.SIGTERM)
			r.ended()
		})
	}
}

// Who waits asks again whenever the engine says that the lock may be free. Whom it waits for is said once.
func TestWaitIsToldOnce(t *testing.T) {
	t.Parallel()
	addr := redis(t)
	url := "redis://" + addr + "/test?ttl=" + ttl.String()
	var runs [2]*run
	for i := range runs {
		h := newHost(t, "x", "127.0.0.1:1")
		h.fixedURL = url
		if runs[i] = h.start("--wait", "forever"); i == 0 {
			runs[i].works()
		}
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answers := bufio.NewReader(c)
	for heard := 0; heard < 5; {
		fmt.Fprintf(c, "PUBLISH test:{x}:free again\r\n")
		answer, err := answers.ReadString('\n')
		if err != nil || !strings.HasPrefix(answer, ":") {
			t.Fatal(answer, err)
		}
		if answer != ":0\r\n" {
			heard++
		}
	}
	runs[0].signal(syscall.SIGTERM)
	runs[0].ended()
	runs[1].works()
	if n := strings.Count(runs[1].stderr.String(), "waiting: lock"); n != 1 {
		t.Errorf("said %d times: %s", n, runs[1].stderr.String())
	}
	runs[1].signal(syscall.SIGTERM)
	runs[1].ended()
}

// Runs of one host that wait for the same lock at one agent have it one after another.
func TestSharedQueue(t *testing.T) {
	t.Parallel()
	etcd := engine(t)
	h := newHost(t, "x", etcd)
	s := share(t, h.base, h.url())
	var runs []*run
	for range 5 {
		next := newHost(t, "x", etcd)
		next.shared, next.fixedURL = s, h.url()
		runs = append(runs, next.start("--wait", "forever"))
	}
	var tokens []uint64
	for range runs {
		var owner *run
		testneed.Until(t, "nobody has it", func() bool {
			i := slices.IndexFunc(runs, (*run).started)
			if i >= 0 {
				owner, runs = runs[i], slices.Delete(slices.Clone(runs), i, i+1)
			}
			return i >= 0
		})
		b := owner.works()
		for _, r := range runs {
			if r.started() {
				t.Fatal("two owners")
			}
		}
		tokens = append(tokens, b.Token)
		owner.signal(syscall.SIGTERM)
		owner.ended()
	}
	if !slices.IsSorted(tokens) || len(slices.Compact(tokens)) != 5 {
		t.Errorf("tokens %v", tokens)
	}
}
