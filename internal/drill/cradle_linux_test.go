package drill_test

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/drill"
	"github.com/solehold/solehold/internal/testneed"
)

// nursery starts a cradle.
func nursery(t *testing.T, boot bool) (*drill.Nursery, string) {
	t.Helper()
	dir := t.TempDir()
	n, err := drill.NewNursery(os.Args[0], dir, boot)
	must(t, err)
	t.Cleanup(n.Leave)
	return n, filepath.Join(dir, "log")
}

// words reads what a cradle says up to a word.
func words(n *drill.Nursery, last string) (all []string) {
	for !slices.Contains(all, last) && !slices.Contains(all, "") {
		what, trouble := n.Word()
		all = append(all, what+trouble)
	}
	return all
}

// TestOneLifeAfterTheOther has a cradle hear of ended children while nothing of a start lives, as the kernel may tell late:
// each start ends once, and the end of one is never told as that of the next.
func TestOneLifeAfterTheOther(t *testing.T) {
	t.Parallel()
	n, log := nursery(t, false)
	for life := range 3 {
		for range 5 {
			must(t, syscall.Kill(n.PID(), syscall.SIGCHLD))
		}
		must(t, n.Arm(log, "/bin/sh", "-c", "read x </dev/null; sleep 0.01 & sleep 0.02 & exit 0"))
		got := words(n, "armed")
		must(t, syscall.Kill(n.PID(), syscall.SIGCHLD))
		must(t, n.Open())
		got = append(got, words(n, "empty")...)
		if !slices.Equal(got, []string{"armed", "started", "exited", "empty"}) {
			t.Errorf("life %d: %q", life, got)
		}
	}
}

// TestDeafCradle sends what a terminal's keys would: it stays, for it has to clean up.
func TestDeafCradle(t *testing.T) {
	t.Parallel()
	n, log := nursery(t, false)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		must(t, syscall.Kill(n.PID(), sig))
	}
	must(t, n.Arm(log, "/bin/true"))
	if got := words(n, "armed"); !slices.Equal(got, []string{"armed"}) {
		t.Errorf("after the signals: %q", got)
	}
	must(t, n.Open())
	words(n, "empty")
}

// TestOccupy takes numbers for others while a command beside it takes one after the other.
func TestOccupy(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	n, log := nursery(t, true)
	must(t, n.Arm(log, "/bin/sh", "-c", "while :; do /bin/true; done"))
	words(n, "armed")
	must(t, n.Open())
	words(n, "started")
	for _, pid := range []int{500, 1500, 9000, 400} {
		must(t, n.Occupy(pid))
		if what, trouble := n.Word(); what != "done" || trouble != "" {
			t.Errorf("pid %d: %s %s", pid, what, trouble)
		}
		if there := n.Inner(); !slices.Contains(there, pid) {
			t.Errorf("nobody has pid %d: %d", pid, there)
		}
	}
	if there := n.Inner(); slices.Min(there) < 300 {
		t.Errorf("a command got a number as low as a thread of the cradle: %d", there)
	}
}
