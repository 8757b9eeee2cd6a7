package mark_test

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"testing"

	"github.com/solehold/solehold/bench/internal/mark"
	"golang.org/x/sys/unix"
)

// start starts a process that carries a mark and ends when the test does.
func start(t *testing.T, m string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", "echo; read x")
	cmd.Env = []string{"PATH=/bin:/usr/bin", mark.Var + "=" + m}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil { // it has done its exec
		t.Fatal(err)
	}
	return cmd
}

func find(t *testing.T, m string) []int {
	t.Helper()
	pids, err := mark.Find(m)
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

func TestFind(t *testing.T) {
	m := fmt.Sprint("find-", unix.Getpid())
	one, two, other := start(t, m+"/1/a"), start(t, m+"/1/a"), start(t, m+"/10/a")
	want := []int{one.Process.Pid, two.Process.Pid}
	slices.Sort(want)
	got := find(t, m+"/1/a")
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	if got, err := mark.Below(m + "/10"); err != nil || !slices.Equal(got, []int{other.Process.Pid}) {
		t.Errorf("below: %v, %v", got, err)
	}
	if got := find(t, m+"/1"); len(got) != 0 {
		t.Errorf("a part of a mark found %v", got)
	}
}

// TestEnd: all below a mark and nobody else, also whose mark begins alike.
func TestEnd(t *testing.T) {
	m := fmt.Sprint("end-", unix.Getpid())
	start(t, m+"/1/a")
	start(t, m+"/1/b")
	other := start(t, m+"/10/a")
	if err := mark.End(m + "/1"); err != nil {
		t.Fatal(err)
	}
	if got, err := mark.Below(m); err != nil || !slices.Equal(got, []int{other.Process.Pid}) {
		t.Errorf("left: %v, %v; want %d", got, err, other.Process.Pid)
	}
}

// TestSignalStranger: a number that has become somebody else's gets no signal.
func TestSignalStranger(t *testing.T) {
	m := fmt.Sprint("signal-", unix.Getpid())
	p := start(t, m+"/1/a")
	if err := mark.Signal(p.Process.Pid, m+"/2/a", unix.SIGKILL); !errors.Is(err, unix.ESRCH) {
		t.Errorf("another mark: %v", err)
	}
	if got := find(t, m+"/1/a"); len(got) != 1 {
		t.Errorf("lives: %v", got)
	}
	if err := mark.Signal(p.Process.Pid, m+"/1/a", unix.SIGKILL); err != nil {
		t.Error(err)
	}
}
