//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && solehold_portable)

package supervise

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/procid"
)

// ps pads its columns, and a command may be anything.
func TestRows(t *testing.T) {
	t.Parallel()
	const text = `    1     0     1 Ss   /sbin/launchd
  301     1   301 Ss+  login -pf someone
  302   301   302 Z    (sh)
    0     0     0 S    kernel
  x     1     1 S    no number
  12 1
  303   302   302 R
`
	got := rows(text)
	want := []row{
		{1, 0, 1, "Ss", "/sbin/launchd"},
		{301, 1, 301, "Ss+", "login -pf someone"},
		{302, 301, 302, "Z", "(sh)"},
		{303, 302, 302, "R", ""},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if !got[2].ended() || got[1].ended() {
		t.Error("a zombie is told by its letter")
	}
	if rows("") != nil {
		t.Error("nothing is something")
	}
}

// This process is in the table of this system.
func TestTable(t *testing.T) {
	t.Parallel()
	all := table()
	i := slices.IndexFunc(all, func(r row) bool { return r.pid == os.Getpid() })
	if i < 0 || all[i].ppid != os.Getppid() || all[i].pgid != syscall.Getpgrp() || all[i].command == "" {
		t.Fatalf("%d rows", len(all))
	}
}

// leader starts a shell in a group of its own that has said it is up.
func leader(t *testing.T, script string) (pid int) {
	t.Helper()
	said, tell, err := os.Pipe()
	must(t, err)
	defer said.Close()
	pid, _, err = syscall.StartProcess("/bin/sh", []string{"sh", "-c", script}, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, tell.Fd(), 2}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	must(t, err)
	tell.Close()
	t.Cleanup(func() {
		syscall.Kill(-pid, syscall.SIGKILL)
		syscall.Wait4(pid, nil, 0, nil)
	})
	if _, err := said.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return pid
}

// grown is the tree of a leader.
func grown(pid int) (*tree, chan struct{}) {
	woken := make(chan struct{}, 1)
	tr := &tree{wake: func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	}}
	tr.begin(pid)
	return tr, woken
}

// reaped waits for a leader, as the loop does.
func reaped(t *testing.T, tr *tree, pid int) {
	t.Helper()
	_, err := syscall.Wait4(pid, nil, 0, nil)
	must(t, err)
	tr.orphaned = true
}

// gone waits until the tree is empty, by its own wakes.
func gone(t *testing.T, tr *tree, woken <-chan struct{}) {
	t.Helper()
	for late := time.After(patience); !tr.empty(); {
		select {
		case <-woken:
		case <-late:
			t.Fatalf("left: %s", tr.names())
		}
	}
}

// What the leader leaves in its group is found after its end, and ended.
func TestTreeOfAGroup(t *testing.T) {
	t.Parallel()
	pid := leader(t, `sleep 1000 & (trap "" TERM; exec sleep 1000) & echo; wait`)
	tr, woken := grown(pid)
	if tr.empty() || len(tr.pids()) < 2 || !strings.Contains(tr.names(), "sleep 1000") {
		t.Errorf("%v: %s", tr.pids(), tr.names())
	}
	syscall.Kill(pid, syscall.SIGKILL)
	reaped(t, tr, pid)
	if tr.empty() {
		t.Fatal("the group is not looked at")
	}
	tr.ask()
	for { // one of them does not hear
		if left := tr.pids(); len(left) == 1 {
			break
		}
		select {
		case <-woken:
		case <-time.After(10 * time.Millisecond):
		}
	}
	tr.kill()
	gone(t, tr, woken)
}

// What left the group was seen below its parent, while that lived. One that nobody
// saw is not known: that is said of this system.
func TestTreeBeyondTheGroup(t *testing.T) {
	t.Parallel()
	pid := leader(t, `exec 3>&1; setsid sh -c 'echo >&3; exec 3>&-; exec sleep 1000' & wait`)
	tr, woken := grown(pid)
	members := tr.members()
	outside := slices.IndexFunc(members, func(r row) bool { return r.pgid != pid })
	if outside < 0 {
		t.Fatalf("%+v", members)
	}
	stranger := members[outside].pid
	t.Cleanup(func() { syscall.Kill(stranger, syscall.SIGKILL) })
	syscall.Kill(pid, syscall.SIGKILL)
	reaped(t, tr, pid)
	if tr.empty() {
		t.Fatal("it was forgotten with its parent")
	}
	tr.kill()
	gone(t, tr, woken)

	blind, _ := grown(pid)
	blind.orphaned = true
	if !blind.empty() {
		t.Errorf("a tree that saw nothing knows of %s", blind.names())
	}
}

// Where the system does not tell when a process started, a number that was seen in
// the tree once may mean a stranger by now: nobody is known by it.
func TestNobodyIsKnownByNumber(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		b    birth
		id   procid.ID
		want bool
	}{
		{birth{7, 100}, procid.ID{PID: 7, StartTicks: 100}, true},
		{birth{7, 100}, procid.ID{PID: 7, StartTicks: 101}, false},
		{birth{7, 100}, procid.ID{PID: 8, StartTicks: 100}, false},
		{birth{7, 100}, procid.ID{PID: 7}, false},
		{birth{7, 0}, procid.ID{PID: 7, StartTicks: 100}, false},
		{birth{7, 0}, procid.ID{PID: 7}, false},
	} {
		if got := x.b.is(x.id); got != x.want {
			t.Errorf("%+v is %+v: %t", x.b, x.id, got)
		}
	}
	if g, err := grasp(birth{pid: os.Getpid()}); err == nil {
		t.Errorf("held without a start: %+v", g)
	}
}

// A code for the shells' own numbers.
func TestMirrorByCode(t *testing.T) {
	t.Parallel()
	for e, want := range map[End]int{
		{Code: 3}:                 3,
		{Signal: syscall.SIGQUIT}: 128 + int(syscall.SIGQUIT),
		{Signal: syscall.SIGSEGV}: 128 + int(syscall.SIGSEGV),
		{Code: 0}:                 0,
		{Signal: syscall.SIGABRT}: 128 + int(syscall.SIGABRT),
		{Code: 255, Signal: 0}:    255,
	} {
		if got := Mirror(e, false); got != want {
			t.Errorf("%s: %d, want %d", e, got, want)
		}
	}
	if got := Mirror(End{Signal: syscall.SIGTERM}, true); got != 128+15 {
		t.Error(got)
	}
}

// The end of a filter is its command line's, whatever that is.
func TestFilter(t *testing.T) {
	t.Parallel()
	var r runner
	for line, want := range map[string]int{"cat": 0, "cat; exit 4": 4, "kill -TERM $$": 0} {
		exit, err := r.filter(t.Context(), line, []byte("input"))
		must(t, err)
		if exit.Code != want || strings.HasPrefix(line, "cat") != (string(exit.Output) == "input") || (exit.Signal != 0) != strings.HasPrefix(line, "kill") {
			t.Errorf("%s: %+v", line, exit)
		}
	}
}
