//go:build !solehold_portable

package supervise_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// service writes TWO when it is not alone: a lock that has nothing to do with
// ours is its witness. With DEAF it ignores TERM, and with it the death of its
// wrapper.
const service = `
exec 9>>witness
flock -n 9 || echo TWO >>log
[ -z "$DEAF" ] || trap "" TERM
echo up $$
exec sleep 1000
`

// starter starts a wrapper with the service.
type starter func(s *site, hows ...how) *running

func aRun(s *site, hows ...how) *running { return s.sh(hows, service) }

func aCarelessWrapper(s *site, hows ...how) *running {
	return s.start(hows, self(s.t), "careless", s.dir, "sh", "-c", service)
}

// twoAfter kills a wrapper at a moment, starts another one at once, and reports
// whether two services were live. At the end nobody is.
func twoAfter(t *testing.T, begin starter, moment func(*running), hows ...how) bool {
	t.Helper()
	testneed.Program(t, "flock", "install util-linux")
	s := newSite(t)
	first := begin(s, hows...)
	moment(first)
	first.kill()
	second := begin(s)
	// It is refused and ends, or its service says that it is up.
	second.until("up or a refusal", func() bool {
		text, _, _ := second.out.now()
		return strings.Contains(text, "up")
	})
	log, err := os.ReadFile(s.path("log"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	killMarked(t, s.mark)
	return strings.Contains(string(log), "TWO")
}

// until waits for ok or for the end of the process.
func (r *running) until(what string, ok func() bool) {
	r.t.Helper()
	testneed.Until(r.t, what, func() bool {
		select {
		case <-r.done:
			return true
		default:
			return ok()
		}
	})
}

// startTime measures how long a start takes here and now.
func startTime(t *testing.T) time.Duration {
	t.Helper()
	begin := time.Now()
	r := newSite(t).sh(nil, "echo up; exec sleep 1000")
	r.out.await("up", 1)
	return time.Since(begin)
}

// at is a moment some time after the start.
func at(d time.Duration) func(*running) {
	return func(r *running) {
		select {
		case <-time.After(d):
		case <-r.done:
		}
	}
}

// whenUp is the moment when the service runs.
func whenUp(r *running) { r.out.await("up", 1) }

func TestWrapperKilledAnywhereNeverGivesTwo(t *testing.T) {
	t.Parallel()
	const rounds = 12
	length := startTime(t)
	for i := range rounds {
		var hows []how
		if i%2 == 1 {
			hows = append(hows, withEnv("DEAF=1"))
		}
		d := time.Duration(rand.Int64N(int64(length)*5/4) + 1)
		if twoAfter(t, aRun, at(d), hows...) {
			t.Errorf("round %d: killed %v after its start (a start takes %v): two live services", i, d, length)
		}
	}
	for _, hows := range [][]how{nil, {withEnv("DEAF=1")}} {
		if twoAfter(t, aRun, whenUp, hows...) {
			t.Error("killed when the service was up: two live services")
		}
	}
}

// The scenario above must see the fault that it is about.
func TestCarelessWrapperGivesTwo(t *testing.T) {
	t.Parallel()
	if !twoAfter(t, aCarelessWrapper, whenUp, withEnv("DEAF=1")) {
		t.Error("a wrapper that does not share the lock was not caught")
	}
}

// Between fork and exec the child is still the wrapper's program. strace holds
// it there.
func TestWrapperKilledBetweenForkAndExec(t *testing.T) {
	t.Parallel()
	strace := testneed.Program(t, "strace", "install strace")
	for _, deaf := range []string{"DEAF=", "DEAF=1"} {
		moment := func(r *running) {
			testneed.Until(t, "a child that has not become its program yet", func() bool { return between(r) != 0 })
			must(t, syscall.Kill(wrapperOf(r), syscall.SIGKILL))
		}
		held := traced(strace, "-o", "/dev/null", "-e", "trace=execve", "-e", "inject=execve:delay_enter=700000:when=1")
		if twoAfter(t, aRun, moment, withEnv(deaf), held) {
			t.Error("two live services")
		}
	}
}

// wrapperOf is the solehold below strace, 0 before it is there.
func wrapperOf(r *running) int {
	for _, pid := range children(r.pid()) {
		if exe, _ := procfs.Default().Exe(pid); exe == tool {
			return pid
		}
	}
	return 0
}

// between is the child of that which has not become its program yet.
func between(r *running) int {
	if w := wrapperOf(r); w != 0 {
		for _, pid := range children(w) {
			if exe, _ := procfs.Default().Exe(pid); exe == tool {
				return pid
			}
		}
	}
	return 0
}

func children(pid int) []int {
	pids, _ := procfs.Default().Children(pid)
	return pids
}

// With the parent-death signal an ordinary service goes with its wrapper.
func TestServiceGoesWithItsWrapper(t *testing.T) {
	t.Parallel()
	for _, hold := range []string{"tree", "none"} {
		s := newSite(t)
		r := s.sh(nil, "echo up; exec sleep 1000", "--hold", hold)
		r.out.await("up", 1)
		child := leader(r)
		r.kill()
		gone(t, child)
		if st := s.status(); st.State != solehold.Free || st.Record.Class != "stale" || st.Record.Why != "no-such-process" {
			t.Errorf("status is %s, record %s:%s, want FREE, stale:no-such-process", st.State, st.Record.Class, st.Record.Why)
		}
		s.sh(nil, "exit 3").exits(3)
		if h := s.history(); !strings.Contains(h, "vanished") {
			t.Errorf("history: %s", h)
		}
	}
}

// One that ignores TERM keeps the directory, and everybody says so.
func TestOrphanKeepsTheDirectory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh([]how{withEnv("DEAF=1")}, service)
	r.out.await("up", 1)
	child := leader(r)
	r.kill()
	st := s.status()
	if o := st.Owner; st.State != solehold.Held || o == nil || o.PID != child || !o.Proven || !o.WrapperGone || o.Wrapper != r.pid() {
		t.Fatalf("status is %s, owner %+v, want HELD by orphan %d", st.State, st.Owner, child)
	}
	refused := s.sh(nil, "echo started", "--held-exit", "75")
	refused.exits(75)
	for _, want := range []string{"its wrapper, pid", "is gone", "--orphans=stop"} {
		refused.errs.await(want, 1)
	}
	if text := refused.out.text(); text != "" {
		t.Errorf("the command was started: %s", text)
	}
	out, err := exec.Command(tool, "status", s.dir).CombinedOutput()
	if text := string(out); err != nil || !strings.Contains(text, "HELD") || !strings.Contains(text, "is gone") {
		t.Errorf("status: %v\n%s", err, text)
	}
}

// What an earlier run left is just ending, and cannot be looked into: the next start
// waits for it, and does not leave.
func TestOrphanThatEnds(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	const user = 65534
	s := newSite(t)
	must(t, os.Chown(s.dir, user, user))
	r := s.sh([]how{withEnv("DEAF=1")}, service, "--hold", "none")
	r.out.await("up", 1)
	child := leader(r)
	r.kill()
	next := s.sh([]how{asUser(user)}, "exit 3")
	testneed.Until(t, "the next one has the directory", func() bool {
		return s.status().State == solehold.Held || strings.Contains(next.errs.text(), "cannot be proven")
	})
	must(t, syscall.Kill(child, syscall.SIGKILL))
	next.exits(3)
}

// stop ends the orphan, what runs below it and what shares the lock with it,
// and nobody else.
func TestOrphansStop(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	innocent := s.beside().start(nil, "sh", "-c", `exec 5>>"$DIR/file"; echo up; exec sleep 1000`)
	innocent.out.await("up", 1)
	r := s.sh(nil, brood+`trap "" TERM; exec sleep 1000`)
	r.out.await("up", 6)
	r.kill()
	// The shell's TERM came before its trap, or after: someone is left anyway.
	if st := s.status(); st.State != solehold.Held {
		t.Fatalf("status is %s", st.State)
	}
	next := s.beside().sh(nil, "echo next; exec sleep 1000", "--orphans=stop", "--grace", "300ms")
	next.out.await("next", 1)
	next.errs.await("stopping it", 1)
	for _, p := range marked(s.mark) {
		if !strings.Contains(p.command, "1005") { // that one has let go of the lock, and nobody knows it any more
			t.Errorf("still alive: %v", p)
		}
	}
	if state(innocent.pid()) == 'X' || state(innocent.pid()) == 'Z' {
		t.Error("an innocent process was ended")
	}
	if st := s.status(); st.State != solehold.Held || st.Owner.Wrapper != next.pid() && st.Owner.PID != next.pid() {
		t.Errorf("status is %s, owner %+v", st.State, st.Owner)
	}
	next.signal(syscall.SIGTERM)
	next.dies(syscall.SIGTERM)
	if h := s.history(); !strings.Contains(h, "forced") {
		t.Errorf("history: %s", h)
	}
}

// stop with no grace still waits until they are gone.
func TestOrphansStopWithoutGrace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh([]how{withEnv("DEAF=1")}, service)
	r.out.await("up", 1)
	r.kill()
	s.sh(nil, "exit 6", "--orphans=stop", "--grace", "0").exits(6)
	s.free()
}

// run --exec stops them as well.
func TestOrphansStopForExec(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh([]how{withEnv("DEAF=1")}, service)
	r.out.await("up", 1)
	r.kill()
	s.sh(nil, "exit 6", "--exec", "--orphans=stop", "--grace", "0").exits(6)
}

// A run inside of the orphan's tree belongs to the owner: the first takes the
// seat beside it, the next is refused. Neither may stop the tree it lives in.
func TestOrphansStopInsideOfTheTree(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, `
		trap "" TERM; echo up
		while [ ! -e go ]; do sleep 0.01; done
		"$SOLEHOLD" run --orphans=stop "$DIR" -- sh -c '
			echo first
			env -u SOLEHOLD_TOKEN "$SOLEHOLD" run --orphans=stop --held-exit 75 "$DIR" -- echo second; echo code $?
			exit 3'
		echo code $?
		exec sleep 1000`)
	r.out.await("up", 1)
	r.kill()
	must(t, os.WriteFile(s.path("go"), nil, 0o600))
	if text := r.out.await("code", 2); text != "up\nfirst\ncode 75\ncode 3\n" {
		t.Error(text)
	}
	if st := s.status(); st.State != solehold.Held {
		t.Errorf("status is %s", st.State)
	}
}

// A signal while the orphan is waited for ends the run: nothing is started.
func TestSignalWhileOrphanIsStopped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh([]how{withEnv("DEAF=1")}, service)
	r.out.await("up", 1)
	r.kill()
	next := s.sh(nil, "echo started", "--orphans=stop", "--grace", "1h")
	next.errs.await("stopping it", 1)
	next.signal(syscall.SIGTERM)
	next.exits(128 + 15)
	if text := next.out.text(); text != "" {
		t.Errorf("the command was started: %s", text)
	}
}

// Where the wrapper alone has the lock, its record still tells of the child.
func TestOrphanWithoutTheLock(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh([]how{withEnv("DEAF=1")}, service, "--hold", "none")
	r.out.await("up", 1)
	child := leader(r)
	r.kill()
	for range 3 { // the first refusal must not make it forgotten
		if st := s.status(); st.State != solehold.Unguarded || st.Record.Child != child {
			t.Errorf("status is %s, record %+v, want UNGUARDED and child %d", st.State, st.Record, child)
		}
		refused := s.sh(nil, "echo started")
		refused.exits(78)
		for _, want := range []string{"still works there without the lock", "pid " + itoa(child), "--orphans=stop"} {
			refused.errs.await(want, 1)
		}
		if text := refused.out.text(); text != "" {
			t.Errorf("the command was started: %s", text)
		}
	}
}

func TestOrphanWithoutTheLockIsStopped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh([]how{withEnv("DEAF=1")}, service, "--hold", "none")
	r.out.await("up", 1)
	child := leader(r)
	r.kill()
	next := s.sh(nil, service, "--orphans=stop", "--grace", "200ms")
	next.out.await("up", 1)
	gone(t, child)
	if log, err := os.ReadFile(s.path("log")); err == nil {
		t.Errorf("log: %s", log)
	}
	next.signal(syscall.SIGTERM)
	next.dies(syscall.SIGTERM)
	s.free()
}

// A set-user-id program loses the parent-death signal; the descriptor guards.
func TestSetuidServiceKeepsTheLock(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	s := newSite(t)
	must(t, os.Chown(s.dir, 65534, 65534))
	sleep := setuid(t, s)
	r := s.run([]how{asUser(65534)}, sleep, "1000")
	testneed.Until(t, "the program runs", func() bool {
		pids := children(r.pid())
		return len(pids) == 1 && strings.HasPrefix(commandOf(pids[0]), sleep)
	})
	child := children(r.pid())[0]
	r.kill()
	if st := s.status(); st.State != solehold.Held || st.Owner.PID != child {
		t.Fatalf("status is %s, owner %+v, want HELD by %d", st.State, st.Owner, child)
	}
	s.sh([]how{asUser(65534)}, "echo started", "--held-exit", "75").exits(75)
	must(t, syscall.Kill(child, syscall.SIGKILL))
	gone(t, child)
	s.sh([]how{asUser(65534)}, "exit 7").exits(7)
}

// setuid is a copy of sleep that runs as root.
func setuid(t *testing.T, s *site) string {
	t.Helper()
	var fs unix.Statfs_t
	must(t, unix.Statfs(s.base, &fs))
	testneed.Feature(t, fs.Flags&unix.ST_NOSUID == 0, "a temporary directory that allows set-user-id programs", "set TMPDIR to one")
	data, err := os.ReadFile(testneed.Program(t, "sleep", "install coreutils"))
	must(t, err)
	path := filepath.Join(s.base, "sleep")
	must(t, os.WriteFile(path, data, 0o755))
	must(t, os.Chmod(path, 0o755|os.ModeSetuid))
	return path
}

func commandOf(pid int) string {
	command, _ := procfs.Default().Cmdline(pid)
	return strings.Join(command, " ")
}
