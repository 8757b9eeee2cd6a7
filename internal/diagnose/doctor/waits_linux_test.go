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

	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
)

// waiting returns when so many processes are seen to wait below a directory.
func waiting(t testing.TB, n int, dir string) doctor.Report {
	t.Helper()
	var r doctor.Report
	testneed.Until(t, fmt.Sprint(n, " waiters"), func() bool {
		r = examine(t, dir)
		waiters := map[int]bool{}
		for _, f := range r.Findings {
			for _, w := range f.Waiters {
				waiters[w.PID] = true
			}
		}
		return len(waiters) >= n
	})
	return r
}

// C04: a lock file that is always there, as that of dpkg. The holder is who holds
// it now, whoever waits is named, and nothing is advised against the file.
func TestC04PermanentLockFile(t *testing.T) {
	t.Parallel()
	dir := place(t)
	lf := filepath.Join(dir, "lf")
	a := acting(t, "posix "+lf)
	b := starting(t, nil, "posix-wait "+lf, "say", "stay")
	waiting(t, 1, dir)
	r := examine(t, lf)
	s := r.Paths[0]
	if s.State != "held" || s.Lock != "POSIX" || len(s.Holders) != 1 || s.Holders[0].PID != a.pid() || !names(s.Waiters, b.pid()) {
		t.Errorf("%+v", s)
	}
	f := only(t, r, "SH006")
	if f.Severity != doctor.Notice || f.Confidence != doctor.Certain || f.Path != lf || !names(f.Holders, a.pid()) || !names(f.Waiters, b.pid()) {
		t.Errorf("%+v", f)
	}
	a.end()
	b.ready(t)
	r = examine(t, lf)
	if s := r.Paths[0]; s.State != "held" || s.Holders[0].PID != b.pid() || len(s.Waiters) != 0 {
		t.Errorf("after the hand-over: %+v", s)
	}
	wantIDs(t, r)
	b.end()
	r = examine(t, lf)
	if s := r.Paths[0]; s.State != "not held" || !has(s.Notes, "normal resting state", "do not delete it") {
		t.Errorf("at rest: %+v", s)
	}
	wantIDs(t, r)
}

// No advice is ever to remove a lock file or to kill without a look.
func TestAdviceRemovesNothing(t *testing.T) {
	t.Parallel()
	dir := place(t)
	lf := filepath.Join(dir, "lf")
	acting(t, "flock "+lf)
	starting(t, nil, "flock-wait "+lf)
	r := waiting(t, 1, dir)
	for _, f := range r.Findings {
		for _, word := range []string{"rm ", "unlink", "kill -9", "delete the"} {
			if strings.Contains(f.Advice, word) {
				t.Errorf("%s advises %q", f.ID, f.Advice)
			}
		}
	}
}

// subshells starts shells each of which holds its own file and then waits for the
// next one's, through a flock that is its child.
func subshells(t *testing.T, dir string, n int) []int {
	t.Helper()
	testneed.Program(t, "flock", "apt-get install util-linux")
	testneed.Program(t, "bash", "apt-get install bash")
	const script = `exec 8>"$1" 9>"$2"; flock 8; echo $BASHPID; read go; flock 9; true`
	var pids []int
	var gates []*os.File
	for i := range n {
		cmd := exec.Command("bash", "-c", script, "bash", filepath.Join(dir, strconv.Itoa(i)), filepath.Join(dir, strconv.Itoa((i+1)%n)))
		read, write, err := os.Pipe()
		must(t, err)
		cmd.Stdin = read
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		read.Close()
		t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); cmd.Wait(); write.Close() })
		line, err := bufio.NewReader(out).ReadString('\n')
		must(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		must(t, err)
		pids, gates = append(pids, pid), append(gates, write)
	}
	for _, g := range gates {
		g.WriteString("go\n")
	}
	return pids
}

// C06: jobs that wait for each other's lock. The waiting processes are children
// of those that hold; the shells are named.
func TestC06Deadlock(t *testing.T) {
	for _, n := range []int{2, 3} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			dir := place(t)
			pids := subshells(t, dir, n)
			r := until(t, "SH007", dir)
			f := only(t, r, "SH007")
			if f.Severity != doctor.Outage || f.Title != fmt.Sprintf("deadlock between %d processes", n) || f.Confidence != doctor.Certain {
				t.Errorf("%+v", f)
			}
			for i, pid := range pids {
				mine, next := filepath.Join(dir, strconv.Itoa(i)), filepath.Join(dir, strconv.Itoa((i+1)%n))
				if !names(f.Holders, pid) || !has(f.Evidence, fmt.Sprintf("pid %d (", pid), "holds "+mine+", waits for "+next) {
					t.Errorf("pid %d is not told in %q", pid, f.Evidence)
				}
			}
			if tree := r.Graph.Tree(); !strings.Contains(tree, "(deadlock)") {
				t.Errorf("%s", tree)
			}
		})
	}
}

// The kernel itself refuses a ring of POSIX locks, so none is left to find.
func TestC06POSIXRing(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	acting(t, "posix "+a)
	starting(t, nil, "posix "+b, "posix-wait "+a)
	r := waiting(t, 1, dir)
	if found := find(r, "SH007"); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

// A ring of OFD locks is nobody's to refuse, and the kernel's list does not name
// its waiters.
func TestC06OFDRing(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	one := starting(t, nil, "ofd "+a, "say", "gate", "ofd-wait "+b)
	one.ready(t)
	two := starting(t, nil, "ofd "+b, "say", "ofd-wait "+a)
	two.ready(t)
	one.open(t)
	var r doctor.Report
	testneed.Until(t, "a deadlock or a queue", func() bool {
		r = examine(t, dir)
		return len(find(r, "SH007")) > 0
	})
	f := only(t, r, "SH007")
	if !names(f.Holders, one.pid()) || !names(f.Holders, two.pid()) {
		t.Errorf("%+v", f)
	}
	if f.Confidence != doctor.Likely { // Go programs have more than one thread
		t.Errorf("confidence %s", f.Confidence)
	}
}

// A queue is no deadlock, however long, also where its members hold other locks.
func TestLongQueueIsNoDeadlock(t *testing.T) {
	t.Parallel()
	dir := place(t)
	lf := filepath.Join(dir, "lf")
	holder := acting(t, "flock "+lf)
	const n = 12
	for i := range n {
		starting(t, nil, "flock "+filepath.Join(dir, strconv.Itoa(i)), "flock-wait "+lf)
	}
	r := waiting(t, n, dir)
	if found := find(r, "SH007"); len(found) > 0 {
		t.Errorf("%+v", found)
	}
	f := only(t, r, "SH006")
	if len(f.Waiters) != n || f.Holders[0].PID != holder.pid() {
		t.Errorf("%+v", f)
	}
	tree := r.Graph.Tree()
	if strings.Count(tree, "is awaited by") != n || strings.Contains(tree, "deadlock") {
		t.Errorf("%s", tree)
	}
}

// The chain leads to who holds up all of them.
func TestChain(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	acting(t, "flock "+a)
	middle := starting(t, nil, "flock "+b, "say", "flock-wait "+a)
	middle.ready(t)
	starting(t, nil, "flock-wait "+b)
	r := waiting(t, 2, dir)
	if len(find(r, "SH006")) != 2 {
		t.Fatalf("%+v", r.Findings)
	}
	told := false
	for _, f := range find(r, "SH006") {
		told = told || has(f.Evidence, "chain: "+b, fmt.Sprintf("pid %d", middle.pid()), a)
	}
	if !told {
		t.Errorf("%+v", r.Findings)
	}
}

// Our own waiters are in none of the kernel's lists.
func TestOwnWaiters(t *testing.T) {
	t.Parallel()
	dir := place(t)
	owner := acting(t, "acquire "+dir)
	waiter := starting(t, nil, "acquire-wait "+dir, "say", "stay")
	r := waiting(t, 1, dir)
	f := only(t, r, "SH006")
	if !names(f.Holders, owner.pid()) || !names(f.Waiters, waiter.pid()) || !f.Waiters[0].Event || !has(f.Evidence, "waits for an event") {
		t.Errorf("%+v", f)
	}
	if s := r.Paths[0]; s.Kind != "data directory" || s.State != "HELD" || !names(s.Holders, owner.pid()) || !names(s.Waiters, waiter.pid()) {
		t.Errorf("%+v", s)
	}
	owner.end()
	waiter.ready(t)
	wantIDs(t, examine(t, dir))
}

// --pid tells what one process holds and awaits, and nothing of others.
func TestOneProcess(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	acting(t, "flock "+a)
	asked := starting(t, nil, "flock "+b, "flock-wait "+a)
	waiting(t, 1, dir)
	r := doctor.Examine(t.Context(), doctor.Options{PID: asked.pid()})
	if len(r.Paths) != 2 || r.Paths[0].Path == r.Paths[1].Path {
		t.Fatalf("%+v", r.Paths)
	}
	for _, s := range r.Paths {
		if want := map[string]string{a: "awaited by it", b: "held by it"}[s.Path]; s.State != want {
			t.Errorf("%+v", s)
		}
	}
	wantIDs(t, r, "SH006")
	gone := exec.Command("true")
	must(t, gone.Run())
	r = doctor.Examine(t.Context(), doctor.Options{PID: gone.Process.Pid})
	if len(r.Gaps) != 1 || !r.Gaps[0].NotRun {
		t.Errorf("%+v", r.Gaps)
	}
}

// A stopped holder that keeps others waiting is an outage; one that keeps nobody
// waiting is somebody's debugging.
func TestStopped(t *testing.T) {
	t.Parallel()
	dir := place(t)
	lf := filepath.Join(dir, "lf")
	holder := acting(t, "flock "+lf)
	must(t, holder.cmd.Process.Signal(syscall.SIGSTOP))
	testneed.Until(t, "stopped", func() bool { st, err := procfs.Default().Stat(holder.pid()); return err == nil && st.State == 'T' })
	wantIDs(t, examine(t, dir))
	starting(t, nil, "flock-wait "+lf)
	r := waiting(t, 1, dir)
	if f := only(t, r, "SH003"); f.Severity != doctor.Outage || !names(f.Holders, holder.pid()) {
		t.Errorf("%+v", f)
	}
}
