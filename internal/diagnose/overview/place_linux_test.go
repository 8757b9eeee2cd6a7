package overview_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/testneed"
)

// contained starts an actor in a mount namespace of its own, where a file system of
// its own lies over dir.
func contained(t *testing.T, dir string, steps ...string) *actor {
	t.Helper()
	testneed.Root(t)
	a := &actor{Cmd: exec.Command("sh", "-c", `mount -t tmpfs -o mode=755 none "$1" && exec "$2"`, "sh", dir, os.Args[0])}
	a.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	run(t, a, steps...)
	return a
}

// Two data directories that are the roots of two file systems have the same inode; who
// holds them is in other mount namespaces. Each has its row, which goes with its
// holder: nobody else can see it.
func TestOtherNamespaces(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	first, second := contained(t, dir, "hold "+dir), contained(t, dir, "hold "+dir)
	w := quiet(dir)
	for _, a := range []*actor{first, second} {
		seen := filepath.Join("/proc", strconv.Itoa(a.Process.Pid), "root", dir)
		d := until(t, w, seen, func(d overview.Directory) bool { return d.State == solehold.Held })
		if d.Owner.PID != a.Process.Pid {
			t.Errorf("%+v", d.Owner)
		}
	}
	if d, _ := w.Look(t.Context()).Find(dir); d.State != solehold.Free {
		t.Errorf("the directory below: %+v", d)
	}
	first.end()
	gone := filepath.Join("/proc", strconv.Itoa(first.Process.Pid), "root", dir)
	for end := time.Now().Add(patience); ; {
		if _, ok := w.Look(t.Context()).Find(gone); !ok {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it is still there")
		}
	}
}

// A writer beside the owner is told of in a container, too.
func TestSplitInContainer(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	a := contained(t, dir, "hold "+dir)
	seen := filepath.Join("/proc", strconv.Itoa(a.Process.Pid), "root", dir)
	start(t, "write "+filepath.Join(seen, "file"))
	w := overview.NewWatcher(overview.Options{Examine: time.Millisecond, Timeout: patience})
	d := until(t, w, seen, func(d overview.Directory) bool { return d.State == solehold.Split })
	if !strings.HasPrefix(d.Findings[len(d.Findings)-1], "SH030") {
		t.Errorf("%+v", d.Findings)
	}
}

// State that lies elsewhere is found, and its changes are seen.
func TestStateElsewhere(t *testing.T) {
	t.Parallel()
	dir, state := dataDir(t), dataDir(t)
	lock, err := solehold.Acquire(t.Context(), dir, &solehold.Options{StateDir: state, NoSync: true})
	must(t, err)
	w := quiet(dir)
	d, _ := w.Look(t.Context()).Find(dir)
	if d.State != solehold.Held || d.Token != 1 && d.Problem == nil {
		t.Errorf("%+v", d)
	}
	must(t, lock.Release())
	until(t, w, dir, func(d overview.Directory) bool { return d.State == solehold.Free })
}

// Another user sees that a directory is held, and that it may not see more.
func TestNotPermitted(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	dir := dataDir(t)
	must(t, os.Chmod(dir, 0o700))
	start(t, "hold "+dir)
	a := &actor{Cmd: exec.Command(os.Args[0])}
	out := run(t, a, "nobody", "look "+dir)
	if !strings.HasPrefix(out, "UNKNOWN permission") {
		t.Error(out)
	}
}
