//go:build !solehold_portable

package oslock_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/solehold/solehold/internal/oslock"
	"golang.org/x/sys/unix"
)

func open(t *testing.T, path string, flags int) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func lockFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lock")
	open(t, path, os.O_CREATE|os.O_RDWR)
	return path
}

func wantHeld(t *testing.T, f *os.File, b oslock.Byte, want bool) {
	t.Helper()
	got, err := oslock.Held(f.Fd(), b)
	if err != nil || got != want {
		t.Errorf("Held = %v, %v; want %v", got, err, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestExclusion(t *testing.T) {
	path := lockFile(t)
	a, b := open(t, path, os.O_RDWR), open(t, path, os.O_RDWR)
	must(t, oslock.TryLock(a.Fd(), oslock.Owner))
	must(t, oslock.TryLock(a.Fd(), oslock.Owner)) // again by the same description
	if err := oslock.TryLock(b.Fd(), oslock.Owner); err != oslock.ErrHeld {
		t.Fatalf("second description: %v, want ErrHeld", err)
	}
	must(t, oslock.TryLock(b.Fd(), oslock.Seat)) // the bytes are independent
	wantHeld(t, b, oslock.Owner, true)
	wantHeld(t, a, oslock.Owner, false) // never in conflict with itself
	must(t, oslock.Unlock(a.Fd(), oslock.Owner))
	must(t, oslock.Unlock(a.Fd(), oslock.Owner))
	must(t, oslock.TryLock(b.Fd(), oslock.Owner))
}

func TestMarkOnDirectory(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir, os.O_RDONLY), open(t, dir, os.O_RDONLY)
	wantHeld(t, b, oslock.Owner, false)
	must(t, oslock.TryMark(a.Fd(), oslock.Owner))
	wantHeld(t, b, oslock.Owner, true)
	must(t, oslock.TryMark(b.Fd(), oslock.Owner)) // marks coexist
	wantHeld(t, a, oslock.Owner, true)
	must(t, b.Close())
	wantHeld(t, a, oslock.Owner, false)
}

// Closing another descriptor of the file, as a status command in the same
// process does, drops POSIX locks. It must not drop ours (case C37).
func TestUnrelatedCloseKeepsLock(t *testing.T) {
	path := lockFile(t)
	a := open(t, path, os.O_RDWR)
	must(t, oslock.TryLock(a.Fd(), oslock.Owner))
	for range 100 {
		f := open(t, path, os.O_RDONLY)
		wantHeld(t, f, oslock.Owner, true)
		must(t, f.Close())
	}
	wantHeld(t, open(t, path, os.O_RDONLY), oslock.Owner, true)
}

func TestQueryTakesNothing(t *testing.T) {
	path := lockFile(t)
	wantHeld(t, open(t, path, os.O_RDONLY), oslock.Owner, false)
	must(t, oslock.TryLock(open(t, path, os.O_RDWR).Fd(), oslock.Owner))
}

func TestInheritedDescriptorKeepsLock(t *testing.T) {
	path := lockFile(t)
	a := open(t, path, os.O_RDWR)
	must(t, oslock.TryLock(a.Fd(), oslock.Owner))
	child := exec.Command("cat")
	child.ExtraFiles = []*os.File{a}
	in, err := child.StdinPipe()
	must(t, err)
	must(t, child.Start())
	must(t, a.Close())
	b := open(t, path, os.O_RDWR)
	if err := oslock.TryLock(b.Fd(), oslock.Owner); err != oslock.ErrHeld {
		t.Errorf("while the child lives: %v, want ErrHeld", err)
	}
	must(t, in.Close())
	must(t, child.Wait())
	must(t, oslock.TryLock(b.Fd(), oslock.Owner))
}

// A failure that is not would-block must keep its errno: it says nothing about
// a holder (G8).
func TestErrnoSurvives(t *testing.T) {
	path := lockFile(t)
	ro := open(t, path, os.O_RDONLY)
	if err := oslock.TryLock(ro.Fd(), oslock.Owner); !errors.Is(err, unix.EBADF) {
		t.Errorf("exclusive lock on a read-only descriptor: %v, want EBADF", err)
	}
	if _, err := oslock.Held(^uintptr(0), oslock.Owner); !errors.Is(err, unix.EBADF) {
		t.Errorf("bad descriptor: %v, want EBADF", err)
	}
}

// flock(2) and our locks live in different worlds on Linux: programs that
// flock their own directory go on working under solehold.
func TestFlockDoesNotMeet(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir, os.O_RDONLY), open(t, dir, os.O_RDONLY)
	must(t, oslock.TryMark(a.Fd(), oslock.Owner))
	must(t, unix.Flock(int(b.Fd()), unix.LOCK_EX|unix.LOCK_NB))
}
