package agent_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/clustertest"
	"github.com/solehold/solehold/internal/testneed"
)

// fault is something that happens to the owner, who does not heed SIGTERM unless that is said.
type fault struct {
	how  []string // of the command
	does func(t *testing.T, h *host, r *run)
	code int  // of the run
	cut  bool // nothing is given back: the lease must run out
}

// How a run ends.
const (
	lost   = 76
	killed = 128 + int(syscall.SIGKILL)
)

func faults() map[string]fault {
	cut := func(_ *testing.T, h *host, _ *run) { h.proxy.Cut() }
	killAgent := func(t *testing.T, _ *host, r *run) { kill(t, r.agent(), syscall.SIGKILL) }
	return map[string]fault{
		"partition":                    {[]string{"stubborn"}, cut, lost, true},
		"partition, a brood":           {[]string{"brood"}, cut, lost, true},
		"partition, a willing command": {nil, cut, lost, true},
		"agent killed":                 {[]string{"stubborn"}, killAgent, lost, true},
		"agent stopped": {[]string{"stubborn"}, func(t *testing.T, _ *host, r *run) {
			pid := r.agent()
			kill(t, pid, syscall.SIGSTOP)
			t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
		}, lost, true},
		"wrapper stopped, partition": {[]string{"brood"}, func(t *testing.T, h *host, r *run) {
			r.signal(syscall.SIGSTOP)
			h.proxy.Cut()
		}, killed, true},
		"wrapper killed":        {[]string{"stubborn"}, func(_ *testing.T, _ *host, r *run) { r.signal(syscall.SIGKILL) }, killed, false},
		"wrapper killed, brood": {[]string{"brood"}, func(_ *testing.T, _ *host, r *run) { r.signal(syscall.SIGKILL) }, killed, false},
		"wrapper killed, partition": {[]string{"stubborn"}, func(_ *testing.T, h *host, r *run) {
			h.proxy.Cut()
			r.signal(syscall.SIGKILL)
		}, killed, true},
		"both killed, a willing command": {nil, func(t *testing.T, h *host, r *run) {
			pid := r.agent()
			r.signal(syscall.SIGKILL)
			kill(t, pid, syscall.SIGKILL)
		}, killed, true},
	}
}

func kill(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

// Whatever happens to an owner, its command is dead before that of another host starts: measured by their own acts on one
// clock. After healing all of it is one history. All scenes run at once: nearly all of their time is waiting.
func TestFaults(t *testing.T) {
	t.Parallel()
	play(t, func(*host) {})
}

// play has all faults happen to hosts that are prepared so.
func play(t *testing.T, prepare func(first *host)) {
	t.Helper()
	etcd := engine(t)
	var all []*scene
	for name, f := range faults() {
		all = append(all, begin(t, newHosts(t, etcd, name, prepare), f))
	}
	for _, s := range all {
		s.waits()
	}
	for _, s := range all {
		s.fault.does(t, s.first, s.a)
		s.at = cluster.SystemClock().Now()
	}
	history := &clustertest.History{}
	var margins []time.Duration
	for i, s := range all {
		margins = append(margins, s.end(t))
		for _, tenure := range s.tenures(2 * i) {
			history.Add(tenure)
		}
	}
	slices.Sort(margins)
	t.Logf("from the last act to the next start: min %v, median %v, max %v of %d",
		margins[0], margins[len(margins)/2], margins[len(margins)-1], len(margins))
	if err := history.Check(); err != nil {
		t.Error(err)
	}
}

// scene is an owner to whom something happens, and another host that waits.
type scene struct {
	name          string
	fault         fault
	first, second *host
	a, b          *run
	one, two      begun
	at            time.Duration
	released      time.Duration
}

// newHosts makes two, the first of them prepared.
func newHosts(t *testing.T, etcd, name string, prepare func(first *host)) [2]*host {
	t.Helper()
	both := [2]*host{newHost(t, name, etcd), newHost(t, name, etcd)}
	prepare(both[0])
	return both
}

func begin(t *testing.T, hosts [2]*host, f fault) *scene {
	t.Helper()
	s := &scene{name: hosts[0].name, fault: f, first: hosts[0], second: hosts[1]}
	s.a = s.first.start(append([]string{"--"}, f.how...)...)
	return s
}

// waits returns when one host works and the other one waits.
func (s *scene) waits() {
	s.one = s.a.works()
	s.b = s.second.start("--wait", "forever")
	testneed.Until(s.a.t, "it does not wait", func() bool { return strings.Contains(s.b.stderr.String(), "waiting") })
}

// end waits for the successor, and gives the time from the owner's last act to its start.
func (s *scene) end(t *testing.T) time.Duration {
	t.Helper()
	s.two = s.b.works()
	s.first.proxy.Heal()
	// On a machine that is busy the last resort may come first: then the agent kills the run as well.
	if code := s.a.ended(); code != s.fault.code && (code != killed || !s.fault.cut) {
		t.Errorf("%s: code %d, want %d: %s", s.name, code, s.fault.code, s.a.stderr.String())
	}
	margin := s.two.Owned - s.a.acted()
	if margin <= 0 {
		t.Errorf("%s: it acted %v after its successor", s.name, -margin)
	}
	if s.fault.cut && s.two.Owned-s.at < ttl/2 {
		t.Errorf("%s: taken over after %v: the lease had not run out", s.name, s.two.Owned-s.at)
	}
	t.Logf("%s: taken over after %v, %v after the last act", s.name, s.two.Owned-s.at, margin)
	s.b.signal(syscall.SIGTERM)
	s.b.ended()
	s.released = cluster.SystemClock().Now()
	return margin
}

func (s *scene) tenures(client int) []clustertest.Tenure {
	return []clustertest.Tenure{
		{Client: client, Name: s.name, Token: s.one.Token, Called: s.a.called, Owned: s.one.Owned, Acted: s.a.acted()},
		{
			Client: client + 1, Name: s.name, Token: s.two.Token, Called: s.b.called, Owned: s.two.Owned, Acted: s.b.acted(),
			Released: s.released,
		},
	}
}

// A wrapper that stands still for longer than the time to live loses nothing as long as its agent renews.
func TestStoppedWrapperKeepsTheLock(t *testing.T) {
	t.Parallel()
	h := newHost(t, "x", engine(t))
	a := h.start()
	b := a.works()
	a.signal(syscall.SIGSTOP)
	from := max(a.acted(), b.Owned) // it may not have acted yet
	testneed.Until(t, "the command has stopped", func() bool { return a.acted() > from+ttl+ttl/2 })
	other := newHost(t, "x", "127.0.0.1:1")
	other.proxy = h.proxy
	if code := other.start("--held-exit", "75").ended(); code != 75 {
		t.Errorf("code %d", code)
	}
	a.signal(syscall.SIGCONT)
	a.signal(syscall.SIGTERM)
	if code := a.ended(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("code %d: %s", code, a.stderr.String())
	}
	if a.isWork(b.PID) {
		t.Error("the command lives")
	}
}

// A run that restarts its command does not start it once more when the lock is lost.
func TestNoRestartAfterLoss(t *testing.T) {
	t.Parallel()
	h := newHost(t, "x", engine(t))
	a := h.start("--restart", "always")
	b := a.works()
	h.proxy.Cut()
	if code := a.ended(); code != 76 {
		t.Errorf("code %d: %s", code, a.stderr.String())
	}
	if again, ok := a.begun(); !ok || again.PID != b.PID {
		t.Errorf("it was started again: %+v after %+v", again, b)
	}
}

// What was below the wrapper before it became one is no part of its tree: a script had started it.
func TestStrangersLive(t *testing.T) {
	t.Parallel()
	h := newHost(t, "x", engine(t))
	h.through = []string{"sh", "-c", `sleep 1000 2>/dev/null & echo $! >"$0"; exec "$@"`, h.base + "/stranger"}
	a := h.start("--", "stubborn")
	b := a.works()
	text, err := os.ReadFile(h.base + "/stranger")
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(stranger, syscall.SIGKILL) })
	a.signal(syscall.SIGSTOP)
	h.proxy.Cut()
	if code := a.ended(); code != killed || a.isWork(b.PID) {
		t.Errorf("code %d: %s", code, a.stderr.String())
	}
	if err := syscall.Kill(stranger, 0); err != nil {
		t.Error("the stranger is dead:", err)
	}
}
