package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/solehold/solehold/cluster/clustertest"
	"github.com/solehold/solehold/internal/testneed"
)

// situation makes an alert fire for real, and ends.
type situation struct {
	alert string
	value string // of the label by which it is told
	begin func(*host) (end func())
}

// TestEachAlertFires scrapes the real page with the real Prometheus, and brings
// each alert about: real processes, locks, files, probes, and members of etcd.
func TestEachAlertFires(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	etcd := startEtcd(t)
	all := h.situations(clustertest.NewProxy(t, etcd[0]), etcd)
	var dirs []string
	for _, s := range all {
		if filepath.IsAbs(s.value) {
			dirs = append(dirs, s.value)
		}
	}
	h.serve(append(dirs, "--cluster", "etcd://"+etcd[0]+"/deploy?ttl=20s")...)
	p := newPrometheus(t, h, etcd)
	testneed.Until(t, "both jobs are scraped", func() bool { n, _ := p.asks("up == 1"); return n == 1+len(etcd) })
	testneed.Until(t, "doctor has looked", func() bool { n, _ := p.asks("solehold_findings"); return n > 0 })
	for _, s := range all {
		if a, ok := p.firing(s.alert, s.value); ok {
			t.Errorf("it fires before anything has happened: %+v", a)
		}
	}
	t.Run("situations", func(t *testing.T) {
		for _, s := range all {
			t.Run(s.alert+" "+filepath.Base(s.value), func(t *testing.T) {
				t.Parallel()
				p := &prometheus{t, p.addr}
				end := s.begin(h.with(t))
				p.fires(s.alert, s.value)
				end()
				p.clears(s.alert, s.value)
			})
		}
	})
	fired := map[string]bool{}
	for _, s := range all {
		fired[s.alert] = true
	}
	for _, name := range alertNames(t) {
		if !fired[name] {
			t.Errorf("%s was not brought about", name)
		}
	}
	p.shows(t)
}

func (h *host) situations(proxy *clustertest.Proxy, etcd []string) []situation {
	return []situation{
		{"SoleholdTwoOwners", h.dir("split"), (*host).twoWriters},
		{"SoleholdTwoOwners", "SH021", (*host).swappedLock},
		{"SoleholdHeldTooLong", h.dir("long"), (*host).longHold},
		{"SoleholdRefusedWhileUnhealthy", h.dir("sick"), (*host).refusedBySick},
		{"SoleholdGaveUp", h.dir("failing"), (*host).givesUp},
		{"SoleholdLeaseMarginSmall", h.dir("leased"), func(h *host) func() { return h.silentEngine(proxy) }},
		{"SoleholdDeletedFilesHeld", "solehold", (*host).deletedFile},
		{"SoleholdStaleRecord", h.dir("crashed"), (*host).crash},
		{"SoleholdEtcdLeaderChanges", "etcd", func(h *host) func() { return h.restlessLeader(etcd) }},
	}
}

// twoWriters has an owner, and a stranger that writes beside it.
func (h *host) twoWriters() func() {
	dir := h.dir("split")
	h.start("solehold", "run", dir, "--", "sh", "-c", `exec 3>>"$SOLEHOLD_DIR/data"; echo works; read x`).says("works")
	stranger := h.shell(`exec 3>>"$1/data"; echo writes; read x`, dir)
	stranger.says("writes")
	return stranger.end
}

// swappedLock has two owners of one lock file of flock(1): somebody removed it.
func (h *host) swappedLock() func() {
	lock := filepath.Join(h.dir("flock"), "lock")
	const hold = `exec 9>"$1"; flock -n 9 && echo owns; read x`
	one := h.shell(hold, lock)
	one.says("owns")
	must(h.t, os.Remove(lock))
	two := h.shell(hold, lock)
	two.says("owns")
	return func() { one.end(); two.end() }
}

// longHold is held, and somebody waits.
func (h *host) longHold() func() {
	dir := h.dir("long")
	h.start("solehold", "run", dir, "--", "sh", "-c", "echo works; read x").says("works")
	waiter := h.start("solehold", "run", "--wait", "forever", dir, "--", "true")
	waiter.says("waiting")
	return func() { h.shell(`kill -TERM $(pgrep -f -- '--wait forever')`).wait(); waiter.wait() }
}

// refusedBySick has an owner that fails its probes, and starters that it turns away.
func (h *host) refusedBySick() func() {
	dir := h.dir("sick")
	sick := filepath.Join(h.base, "is-sick")
	h.start("solehold", "run", "--health-exec", "test ! -e "+sick, "--health-period", "1s", "--health-failure-threshold", "1",
		"--on-unhealthy", "report", dir, "--", "sh", "-c", "echo works; read x").says("works")
	testneed.Until(h.t, "a probe is told", func() bool { return strings.Contains(h.metrics(), "solehold_healthy{dir=\""+dir+"\"} 1") })
	must(h.t, os.WriteFile(sick, nil, 0o644))
	testneed.Until(h.t, "the failure is told", func() bool { return strings.Contains(h.metrics(), "solehold_healthy{dir=\""+dir+"\"} 0") })
	h.start("solehold", "run", dir, "--", "true").says("already has its owner")
	return func() { must(h.t, os.Remove(sick)) }
}

// givesUp fails until nobody starts it any more.
func (h *host) givesUp() func() {
	dir := h.dir("failing")
	h.start("solehold", "run", "--restart", "on-failure", "--restart-max", "2", dir, "--", "false").says("giving up")
	return func() {
		h.start("solehold", "run", "--retry", dir, "--", "sh", "-c", "echo works; read x").says("works")
	}
}

// silentEngine has a lease that the engine does not renew.
func (h *host) silentEngine(proxy *clustertest.Proxy) func() {
	h.start("solehold", "run", "--cluster", "etcd://"+proxy.Addr()+"/deploy?ttl=20s", "--cluster-name", "x", h.dir("leased"), "--",
		"sh", "-c", "echo works; read x").says("works")
	testneed.Until(h.t, "the margin is told", func() bool { return strings.Contains(h.metrics(), "solehold_lease_margin_seconds{") })
	proxy.Cut()
	return proxy.Heal
}

// deletedFile keeps three megabytes that nobody finds.
func (h *host) deletedFile() func() {
	file := filepath.Join(h.dir("log"), "old.log")
	p := h.shell(`exec 3>"$1"; head -c 3145728 /dev/zero >&3; rm "$1"; echo removed; read x`, file)
	p.says("removed")
	return p.end
}

// crash leaves no release.
func (h *host) crash() func() {
	dir := h.dir("crashed")
	p := h.shell(`solehold run "$1" -- sleep 1000 & read x; kill -9 $!`, dir)
	h.status(dir, "HELD")
	p.end()
	h.status(dir, "FREE")
	return func() { h.start("solehold", "run", dir, "--", "sh", "-c", "echo works; read x").says("works") }
}

// restlessLeader moves the leader often.
func (h *host) restlessLeader(etcd []string) func() {
	for range 16 {
		moveLeader(h.t, etcd)
	}
	return func() {}
}

// shows asks each query of the dashboards: Prometheus takes all, and of what is told
// here each has an answer.
func (p *prometheus) shows(t *testing.T) {
	t.Helper()
	for file, d := range dashboards(t) {
		for _, q := range d.queries() {
			n, err := p.asks("count_over_time((" + q + ")[10m:1s])") // most of it is over
			if err != nil {
				t.Error(err)
			}
			here := file == "owners.json" || strings.Contains(q, "etcd_")
			for _, elsewhere := range []string{"solehold_acquire_duration", "etcd_network_peer", "> 0"} { // of programs; of what need not have happened
				here = here && !strings.Contains(q, elsewhere)
			}
			if here && n == 0 {
				t.Errorf("%s: no answer to %s", file, q)
			}
		}
	}
}
