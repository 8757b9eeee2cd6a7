//go:build !solehold_portable

package supervise_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// pair is a command of two processes in one group that both listen.
const pair = `"$SELF" listen member & exec "$SELF" listen first`

func TestSignalsArePassedOn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, pair)
	r.out.await("up", 2)
	for _, sig := range []syscall.Signal{
		syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGQUIT, syscall.SIGALRM, syscall.Signal(40),
	} {
		r.signal(sig)
		r.out.await("first "+unix.SignalName(sig)+" "+itoa(int(sig)), 1)
	}
	if text := r.out.text(); strings.Contains(strings.ReplaceAll(text, "member up", ""), "member") {
		t.Errorf("more than the first process was told:\n%s", text)
	}
	r.signal(syscall.SIGTERM) // to stop is for all
	r.exits(0)
	r.out.await("first SIGTERM", 1)
	r.out.await("member SIGTERM", 1)
	s.free()
}

func TestInterruptIsPassedOnToAll(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, pair)
	r.out.await("up", 2)
	r.signal(syscall.SIGINT)
	r.exits(0)
	r.out.await("first SIGINT", 1)
	r.out.await("member SIGINT", 1)
	if text := r.out.all(); strings.Count(text, "first SIGINT") != 1 {
		t.Errorf("told more than once:\n%s", text)
	}
}

// --stop-signal is what TERM becomes, what a request to let go becomes, and what
// the loss of the lock becomes.
func TestStopSignal(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.run(nil, "--stop-signal", "INT", "--", self(t), "listen", "first")
	r.out.await("up", 1)
	r.signal(syscall.SIGTERM)
	r.exits(0)
	if text := r.out.all(); !strings.Contains(text, "first SIGINT") || strings.Contains(text, "SIGTERM") {
		t.Error(text)
	}
}

// Impatient people press ^C again.
func TestSecondTermIsPassedOnToo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, `n=0; trap 'n=$((n+1)); echo asked $n; [ $n = 1 ] || exit 8' TERM; echo up; while :; do sleep 0.01; done`)
	r.out.await("up", 1)
	r.signal(syscall.SIGTERM)
	r.out.await("asked 1", 1)
	r.signal(syscall.SIGTERM)
	r.exits(8)
}

// Go's runtime sends SIGURG to its own threads. A command must never see one.
func TestUrgentSignalStaysHere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, `trap 'echo URG' URG; trap 'echo USR1' USR1; trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done`)
	r.out.await("up", 1)
	for range 2000 {
		r.signal(syscall.SIGURG)
	}
	for n := range 20 {
		r.signal(syscall.SIGUSR1)
		r.out.await("USR1", n+1)
	}
	r.signal(syscall.SIGTERM)
	r.exits(0)
	if text := r.out.all(); strings.Contains(text, "URG") {
		t.Error(text)
	}
}

func TestSignalsWhileWaiting(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	holder := s.sh(nil, "echo up; exec sleep 1000")
	holder.out.await("up", 1)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		r := s.beside().sh(nil, "echo started", "--wait", "forever")
		r.errs.await("waiting", 1)
		r.signal(syscall.SIGUSR1) // means nothing yet
		r.signal(sig)
		r.exits(128 + int(sig))
		if text := r.out.all(); text != "" {
			t.Errorf("started after %v: %s", sig, text)
		}
	}
	if st := s.status(); st.State != solehold.Held || st.Token != 1 {
		t.Errorf("status is %s, token %d, want HELD, 1", st.State, st.Token)
	}
}

// strace holds the wrapper where it has the lock and has not started anything.
func TestTermBetweenLockAndForkIsNotLost(t *testing.T) {
	t.Parallel()
	testneed.Root(t) // makes a cgroup there
	strace := testneed.Program(t, "strace", "install strace")
	s := newSite(t)
	s.sh(nil, "true").exits(0) // so that the only directory to be made is the group
	r := s.sh([]how{traced(strace, "-o", "/dev/null", "-e", "trace=mkdirat", "-e", "inject=mkdirat:delay_enter=400000")}, "exec sleep 1000")
	testneed.Until(t, "the group is being made", func() bool { return isIn(wrapperOf(r), unix.SYS_MKDIRAT) })
	if st := s.status(); st.State != solehold.Held {
		t.Fatalf("status is %s", st.State)
	}
	must(t, syscall.Kill(wrapperOf(r), syscall.SIGTERM))
	if ws := r.wait(); ws.Exited() && ws.ExitStatus() != 128+15 {
		t.Errorf("ended with %s", ending(ws))
	}
	s.free()
}

// isIn reports whether a thread of a process is in a system call. The kernel
// tells that of one that sleeps or is held by a tracer.
func isIn(pid int, call int) bool {
	threads, _ := filepath.Glob("/proc/" + itoa(pid) + "/task/*/syscall")
	return slices.ContainsFunc(threads, func(file string) bool {
		text, _ := os.ReadFile(file)
		return strings.HasPrefix(string(text), itoa(call)+" ")
	})
}

// Starts that are told to end at any moment: each ends, and leaves nothing.
func TestTermAtAnyMoment(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	length := startTime(t)
	const rounds = 12
	for i := range rounds {
		r := s.sh(nil, "exec sleep 1000")
		at(length * time.Duration(i) / rounds)(r)
		r.signal(syscall.SIGTERM)
		r.wait()
		if left := marked(s.mark); len(left) > 0 {
			t.Fatalf("left: %v", left)
		}
	}
}

// What this process was started to ignore the command ignores too, as under
// nohup; everything else is as it was.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.run([]how{through(`trap "" HUP INT; exec "$@"`)}, self(t), "files")
	r.exits(0)
	r.out.await(`"Ignored":["SIGHUP","SIGINT"]`, 1)
	r = s.run(nil, self(t), "files")
	r.exits(0)
	r.out.await(`"Ignored":null`, 1)

	r = s.sh([]how{through(`trap "" HUP; exec "$@"`)}, "echo up; exec sleep 1000")
	r.out.await("up", 1)
	r.signal(syscall.SIGHUP)
	r.signal(syscall.SIGTERM)
	r.dies(syscall.SIGTERM)
}

// Nobody reads our messages any more: that must not end the wrapper.
func TestClosedStderr(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.start([]how{func(c *exec.Cmd) { c.Stderr = closedPipe(t) }}, tool, "run", "--grace", "100ms", s.dir, "--",
		"sh", "-c", `trap "" TERM; echo up; exec sleep 1000`)
	r.out.await("up", 1)
	r.signal(syscall.SIGTERM) // "still running ..., killing" goes nowhere
	r.dies(syscall.SIGKILL)
	s.free()
}
