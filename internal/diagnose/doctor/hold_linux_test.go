package doctor_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
)

// leaving runs a bash script that prints the pid of a process which outlives it.
// That process is ended with the test.
func leaving(t testing.TB, script string, args ...string) int {
	t.Helper()
	testneed.Program(t, "bash", "apt-get install bash")
	testneed.Program(t, "flock", "apt-get install util-linux")
	cmd := exec.Command("bash", append([]string{"-c", script, "bash"}, args...)...)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	must(t, err)
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	must(t, cmd.Wait())
	return pid
}

// C33: a daemonised child keeps the lock. The kernel's list names a process that
// is gone.
func TestC33DaemonisedChild(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]string{"plain": "sleep 600", "setsid": "setsid sleep 600"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := place(t)
			lf := filepath.Join(dir, "job.lock")
			pid := leaving(t, `exec 9>"$1"; flock -n 9; `+start+` >/dev/null & echo $!; exit 0`, lf)
			testneed.Until(t, "the child is its own program", func() bool {
				command, err := procfs.Default().Cmdline(pid)
				return err == nil && len(command) > 0 && command[0] == "sleep"
			})
			r := examine(t, dir)
			f := only(t, r, "SH013")
			if f.Severity != doctor.Notice || f.Path != lf || !names(f.Holders, pid) || len(f.Holders[0].FDs) != 1 || f.Holders[0].FDs[0] != 9 {
				t.Errorf("%+v", f)
			}
			if !has(f.Evidence, lf, "which is gone") || !has(f.Evidence, fmt.Sprintf("pid %d (sleep 600)", pid), "descriptor 9", "its parent is 1") {
				t.Errorf("%q", f.Evidence)
			}
			if s := examine(t, lf).Paths[0]; s.State != "held" || !names(s.Holders, pid) {
				t.Errorf("%+v", s)
			}
		})
	}
}

// The usual shell idiom takes the lock by a flock that is gone, too: the shell
// that has the descriptor was there before it.
func TestShellIdiomIsNoLeftOver(t *testing.T) {
	t.Parallel()
	testneed.Program(t, "bash", "apt-get install bash")
	testneed.Program(t, "flock", "apt-get install util-linux")
	dir := place(t)
	lf := filepath.Join(dir, "job.lock")
	cmd := exec.Command("bash", "-c", `(flock 9; echo; read wait; true) 9>"$1"; true`, "bash", lf)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	_, err = out.Read(make([]byte, 1))
	must(t, err)
	r := examine(t, lf)
	wantIDs(t, r)
	if s := r.Paths[0]; s.State != "held" || len(s.Holders) != 1 {
		t.Errorf("%+v", s)
	}
}

// A lock that its taker passed on to a child while it lives on is no left-over.
func TestPassedOn(t *testing.T) {
	t.Parallel()
	dir := place(t)
	lf := filepath.Join(dir, "job.lock")
	f, err := os.Create(lf)
	must(t, err)
	must(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	cmd := exec.Command("cat")
	cmd.ExtraFiles = []*os.File{f}
	in, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	must(t, f.Close())
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	r := examine(t, lf)
	wantIDs(t, r)
	if s := r.Paths[0]; !names(s.Holders, cmd.Process.Pid) {
		t.Errorf("%+v", s)
	}
}

// A mapping keeps a lock whose descriptor was closed: the process that has it is
// the holder, and nothing is wrong.
func TestLockKeptByAMapping(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	lf := filepath.Join(place(t), "lf")
	must(t, os.WriteFile(lf, make([]byte, os.Getpagesize()), 0o600))
	a := acting(t, "flock-map "+lf)
	r := examine(t, lf)
	wantIDs(t, r)
	if s := r.Paths[0]; s.State != "held" || !names(s.Holders, a.pid()) || len(s.Holders[0].FDs) != 0 {
		t.Errorf("%+v", s)
	}
	waiter := starting(t, nil, "flock-wait "+lf)
	testneed.Until(t, "the waiter", func() bool {
		f := find(examine(t, lf), "SH006")
		return len(f) == 1 && names(f[0].Holders, a.pid()) && names(f[0].Waiters, waiter.pid()) && has(f[0].Evidence, "without a descriptor")
	})
}

// A holder whose first thread has exited shows as a zombie, and its own descriptors are empty. It holds all the same.
func TestHeldWithoutFirstThread(t *testing.T) {
	t.Parallel()
	dir := place(t)
	foreign, ours := filepath.Join(dir, "lf"), filepath.Join(dir, "data")
	must(t, os.Mkdir(ours, 0o700))
	var a *actor
	for line := ""; line != "ready\n"; { // most are on their first thread
		a = starting(t, nil, "flock "+foreign, "acquire "+ours, "headless")
		var err error
		if line, err = a.out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		if line != "ready\n" {
			a.end()
		}
	}
	r := examine(t, foreign, ours)
	wantIDs(t, r)
	if s := r.Paths[0]; s.State != "held" || !names(s.Holders, a.pid()) || len(s.Holders[0].FDs) != 1 || len(r.Gaps) > 0 {
		t.Errorf("%+v, gaps %+v", s, r.Gaps)
	}
	if s := r.Paths[1]; s.State != string(solehold.Held) || !names(s.Holders, a.pid()) {
		t.Errorf("%+v", s)
	}
}

// C07: held for long by a job that was stopped, and every later start was refused.
func TestC07HeldForLong(t *testing.T) {
	t.Parallel()
	dir := place(t)
	owner := acting(t, "acquire "+dir)
	const starts = 5
	for range starts { // each a process: refusals of one are counted together
		refused := starting(t, nil, "acquire "+dir)
		if err := refused.cmd.Wait(); err == nil {
			t.Fatal("it was not refused")
		}
	}
	must(t, owner.cmd.Process.Signal(syscall.SIGSTOP))
	look := func() doctor.Report {
		return doctor.Examine(t.Context(), doctor.Options{Paths: []string{dir}, MaxAge: time.Nanosecond})
	}
	var r doctor.Report
	testneed.Until(t, "stopped", func() bool {
		r = look()
		return len(find(r, "SH001")) == 1 && has(find(r, "SH001")[0].Evidence, "state T")
	})
	f := only(t, r, "SH001")
	if f.Confidence != doctor.Certain || !names(f.Holders, owner.pid()) || !has(f.Evidence, "5 starts refused since") {
		t.Errorf("%+v", f)
	}
	if len(r.Paths) != 1 || r.Paths[0].State != string(solehold.Held) {
		t.Errorf("a stopped owner is still an owner: %+v", r.Paths)
	}
	wantIDs(t, examine(t, dir)) // nobody asked for an age
}

// Of a lock that is not ours the age has an upper bound only, and that is said.
func TestAgeOfForeignLocks(t *testing.T) {
	t.Parallel()
	dir := place(t)
	lf := filepath.Join(dir, "lf")
	acting(t, "flock "+lf)
	r := doctor.Examine(t.Context(), doctor.Options{Paths: []string{dir}, MaxAge: time.Nanosecond})
	if f := only(t, r, "SH001"); f.Confidence != doctor.Possible || !has(f.Evidence, "may be younger") {
		t.Errorf("%+v", f)
	}
	r = doctor.Examine(t.Context(), doctor.Options{Paths: []string{dir}, MaxAge: time.Hour})
	wantIDs(t, r)
}

// An owner as it should be is the holder, and nothing is found.
func TestOwnerOfADirectory(t *testing.T) {
	t.Parallel()
	dir := place(t)
	owner := acting(t, "acquire "+dir)
	r := examine(t, dir)
	wantIDs(t, r)
	if s := r.Paths[0]; s.State != "HELD" || !names(s.Holders, owner.pid()) || !has(s.Notes, "owner: pid") {
		t.Errorf("%+v", s)
	}
}
