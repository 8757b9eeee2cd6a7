//go:build !solehold_portable

package supervise_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/testneed"
)

// A service that is well costs questions and nothing else: nothing is said,
// nothing is written but what the watch itself remembers.
func TestWatchIsSilent(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	r := y.serve()
	y.await(journal.ChildStarted, 1) // the last that is written of a start
	before := kept(t, y.dir)
	loop := y.watch("--on-unhealthy=restart")
	y.rounds(3)
	loop.signal(syscall.SIGTERM)
	loop.exits(0)
	once := y.watch("--once")
	once.exits(0)
	if said := loop.out.all() + loop.errs.all() + once.out.all() + once.errs.all(); said != "" {
		t.Errorf("said: %q", said)
	}
	after := kept(t, y.dir)
	for _, own := range []string{"watch.role", "watch.json"} {
		delete(after, ".solehold/"+own)
	}
	if !maps.Equal(before, after) {
		t.Errorf("before %v, after %v", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
	y.started(1)
	// The twin: the same watch of a sick service says and writes.
	y.sick()
	twin := y.watch("--once")
	twin.exits(1)
	if after = kept(t, y.dir); twin.errs.all() == "" || before[".solehold/history.jsonl"] == after[".solehold/history.jsonl"] {
		t.Error("a watch of a sick service says and writes nothing either")
	}
	r.signal(syscall.SIGTERM)
	r.exits(0)
}

// What is down is started in a session of its own, with all that was said about
// its run, and outlives the watch and the watch's terminal.
func TestWatchStarts(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	must(t, os.Mkdir(y.path("state"), 0o755))
	loop := y.start(nil, tool, slices.Concat(
		[]string{"watch", "data"}, y.flags()[2:],
		[]string{"--state=state", "--name=kb", "--strict", "--stop-signal=INT", "--hold=none", "--timeout=9s", "--orphans=stop", "--create", "--log=log", "--", "./service", "by the watch"},
	)...)
	loop.errs.await("started: nobody had it, and the probe says: ", 1)
	y.started(1)
	testneed.Until(t, "its output is in the log", func() bool { return y.count("log", "service by the watch") == 1 })
	owner := y.ownerWith("state")
	if sid, err := unix.Getsid(owner); err != nil || sid != owner {
		t.Errorf("pid %d is in session %d, %v", owner, sid, err)
	}
	want := []string{
		"--state=" + y.path("state"), "--name=kb", "--strict=true", "--stop-signal=SIGINT", "--hold=none", "--timeout=9s", "--orphans=stop", "--create=true", "--grace=2s",
	}
	command := strings.Fields(commandOf(owner))
	for _, flag := range want {
		if !slices.Contains(command, flag) {
			t.Errorf("%s is not passed on: %q", flag, command)
		}
	}
	for _, word := range command {
		if strings.HasPrefix(word, "--health") || strings.HasPrefix(word, "--log") || strings.HasPrefix(word, "--restart") || strings.HasPrefix(word, "--min") {
			t.Errorf("%s is passed on, and is not about a run", word)
		}
	}
	must(t, unix.Kill(-loop.pid(), unix.SIGHUP))
	loop.exits(0)
	y.rest(owner)
	h, err := os.ReadFile(y.path("state/history.jsonl"))
	must(t, err)
	if strings.Count(string(h), `"kind":"recovery"`) != 1 || !strings.Contains(string(h), "nobody had it, and the probe says: ") || !strings.Contains(string(h), "no file") {
		t.Errorf("history: %s", h)
	}
}

// ownerWith waits for an owner.
func (y *yard) ownerWith(state string) (wrapper int) {
	y.t.Helper()
	testneed.Until(y.t, "it has an owner", func() bool {
		out, _ := exec.Command(tool, "status", "--json", "--state", y.path(state), y.dir).Output()
		_, rest, _ := strings.Cut(string(out), `"owner":{"pid":`)
		wrapper = 0
		for _, c := range rest {
			if c < '0' || c > '9' {
				break
			}
			wrapper = wrapper*10 + int(c-'0')
		}
		return wrapper != 0
	})
	return wrapper
}

// rest checks that a process lives for some time after.
func (y *yard) rest(pid int) {
	y.t.Helper()
	unix.Poll(nil, 300)
	if st := state(pid); st == 'X' || st == 'Z' {
		y.t.Errorf("pid %d has ended", pid)
	}
}

// A watch that dies by force leaves what it started, too, and the next one finds
// it well. A missing directory is made where that was said.
func TestWatchIsKilled(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	must(t, os.Remove(y.dir))
	loop := y.watch("--create")
	y.started(1)
	loop.errs.await("started: ", 1)
	loop.kill()
	again := y.watch("--once")
	again.exits(0)
	if said := again.errs.all(); said != "" {
		t.Errorf("said: %q", said)
	}
	y.started(1)
	if n := len(y.events("recovery")); n != 1 {
		t.Errorf("%d recoveries", n)
	}
	y.alone()
}

// What it was started to ignore does not end a watch, nor does a reader of its
// messages that leaves.
func TestWatchGoesOn(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.serve()
	loop := y.watchAs([]how{
		through(`trap "" HUP INT; exec "$@"`),
		func(c *exec.Cmd) { c.Stderr = closedPipe(t) },
	}, "--on-unhealthy=restart")
	y.rounds(2)
	loop.signal(syscall.SIGHUP)
	loop.signal(syscall.SIGINT)
	y.sick() // which is said, to nobody
	y.started(2)
	y.rounds(2)
	loop.signal(syscall.SIGTERM)
	loop.exits(0)
	y.alone()
	// The twin: without being told to ignore it, it ends.
	other := y.watch()
	y.rounds(2)
	other.signal(syscall.SIGHUP)
	other.exits(0)
}

// A probe that never answers is a failure, and a watch that is told to end does
// not wait for it.
func TestWatchWithAHungProbe(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	hang := y.script("hang", "echo asked >>"+y.path("asked")+"; exec sleep 4711")
	loop := y.watch("--health-exec="+hang, "--health-timeout=1s")
	y.started(1)
	loop.signal(syscall.SIGTERM)
	loop.exits(0)
	last := y.watch("--health-exec="+hang, "--health-timeout=1h")
	y.rounds(1)
	last.signal(syscall.SIGTERM)
	last.exits(0)
	for _, p := range marked(y.mark) {
		if strings.HasPrefix(p.command, "sleep 4711") {
			t.Errorf("left behind: %v", p)
		}
	}
	y.started(1)
	y.alone()
}

// The log is tried when the watch begins, and not first when the service is down.
func TestWatchWithoutALog(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.serve()
	must(t, unix.Mkfifo(y.path("fifo"), 0o600))
	for _, path := range []string{y.base, filepath.Join(y.base, "missing", "log"), y.path("fifo")} {
		r := y.watch("--once", "--log="+path)
		r.exits(73)
		if said := r.errs.all(); !strings.Contains(said, path) {
			t.Errorf("%s: %q", path, said)
		}
	}
}

// A watch that lay stopped or had no time does not act on what it saw before.
func TestWatchSleeps(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	first := y.serve()
	loop := y.watch("--on-unhealthy=restart")
	y.rounds(2)
	loop.signal(syscall.SIGSTOP)
	testneed.Until(t, "it is stopped", func() bool { return state(loop.pid()) == 'T' })
	first.signal(syscall.SIGTERM)
	first.exits(0)
	second := y.serve() // which somebody else started in the meantime
	loop.signal(syscall.SIGCONT)
	y.rounds(3)
	y.started(2)
	if said := loop.errs.text(); said != "" {
		t.Errorf("said: %q", said)
	}
	second.signal(syscall.SIGTERM)
	second.exits(0)
	y.started(3) // and now it is down
	y.alone()
}

// While one watch is at work there, others leave. Its death lets the next one act.
func TestSecondWatch(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	first := y.serve()
	acting := y.watch()
	y.rounds(1)
	for _, flags := range [][]string{nil, {"--once"}} {
		r := y.watch(flags...)
		r.exits(0)
		if said := r.errs.all(); !strings.Contains(said, "another watch is at work there. Nothing to do.") {
			t.Errorf("said: %q", said)
		}
	}
	acting.kill()
	next := y.watch()
	y.rounds(1)
	first.signal(syscall.SIGTERM)
	first.exits(0)
	y.started(2)
	next.errs.await("started: ", 1)
	if n := len(y.events("recovery")); n != 1 {
		t.Errorf("%d recoveries", n)
	}
	y.alone()
}

// Two that are started in the same instant do not double what they do.
func TestWatchesAtOnce(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	for i := range soak(20) {
		all := []*running{y.watch("--once"), y.watch("--once"), y.watch("--once")}
		for _, r := range all {
			r.exits(0)
		}
		y.started(i + 1)
		if n := len(y.events("recovery")); n != i+1 {
			t.Fatalf("%d recoveries in %d rounds", n, i+1)
		}
		owner := y.status().Owner
		must(t, unix.Kill(owner.PID, unix.SIGTERM))
		testneed.Until(t, "it is free", func() bool { return len(y.events("released")) == i+1 })
	}
	y.alone()
}
