//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && solehold_portable)

package oslock_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/solehold/solehold/internal/oslock"
	"golang.org/x/sys/unix"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string, flags int) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, flags, 0o600)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func lockFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lock")
	open(t, path, os.O_CREATE|os.O_RDWR)
	return path
}

func wantHeld(t *testing.T, f *os.File, want bool) {
	t.Helper()
	if got, err := oslock.Held(f.Fd(), oslock.Owner); err != nil || got != want {
		t.Errorf("Held = %v, %v; want %v", got, err, want)
	}
}

func TestExclusion(t *testing.T) {
	path := lockFile(t)
	a, b := open(t, path, os.O_RDWR), open(t, path, os.O_RDWR)
	wantHeld(t, b, false)
	must(t, oslock.TryLock(a.Fd(), oslock.Owner))
	must(t, oslock.TryLock(a.Fd(), oslock.Owner)) // again by the same description
	if err := oslock.TryLock(b.Fd(), oslock.Owner); err != oslock.ErrHeld {
		t.Fatalf("second description: %v, want ErrHeld", err)
	}
	wantHeld(t, b, true)
	must(t, oslock.Unlock(a.Fd(), oslock.Owner))
	must(t, oslock.TryLock(b.Fd(), oslock.Owner))
}

// Whatever flock cannot do is said, and not done by half.
func TestUnsupported(t *testing.T) {
	f := open(t, lockFile(t), os.O_RDWR)
	for what, err := range map[string]error{
		"seat": oslock.TryLock(f.Fd(), oslock.Seat),
		"mark": oslock.TryMark(f.Fd(), oslock.Owner),
	} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := oslock.Held(f.Fd(), oslock.Seat); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("question for the seat: %v", err)
	}
	wantHeld(t, open(t, f.Name(), os.O_RDONLY), false)
}

// Those who ask have a shared lock for a moment, all the time: a starter meets them
// and gets its lock.
func TestQuestionsMakeNoStarterFail(t *testing.T) {
	path := lockFile(t)
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan int, 3)
	for range cap(asked) {
		f := open(t, path, os.O_RDONLY)
		go func() {
			n := 0
			for ; ctx.Err() == nil; n++ {
				oslock.Held(f.Fd(), oslock.Owner)
			}
			asked <- n
		}()
	}
	a := open(t, path, os.O_RDWR)
	for i := range 2000 {
		if err := oslock.TryLock(a.Fd(), oslock.Owner); err != nil {
			t.Errorf("try %d: %v", i, err)
			break
		}
		must(t, oslock.Unlock(a.Fd(), oslock.Owner))
	}
	cancel()
	t.Logf("%d, %d and %d questions", <-asked, <-asked, <-asked)
}

// Taken out, the second look of a starter lets a question make it fail: this is
// what the plain system call does.
func TestPlainFlockMeetsQuestions(t *testing.T) {
	path := lockFile(t)
	asks, a := open(t, path, os.O_RDONLY), open(t, path, os.O_RDWR)
	must(t, unix.Flock(int(asks.Fd()), unix.LOCK_SH))
	if err := unix.Flock(int(a.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != unix.EWOULDBLOCK {
		t.Errorf("got %v", err)
	}
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
	wantHeld(t, b, true)
	must(t, in.Close())
	must(t, child.Wait())
	must(t, oslock.TryLock(b.Fd(), oslock.Owner))
}

func TestErrnoSurvives(t *testing.T) {
	if err := oslock.TryLock(^uintptr(0), oslock.Owner); !errors.Is(err, unix.EBADF) {
		t.Errorf("no descriptor: %v", err)
	}
	if _, err := oslock.Held(^uintptr(0), oslock.Owner); !errors.Is(err, unix.EBADF) {
		t.Errorf("no descriptor: %v", err)
	}
	if _, err := oslock.TryAnchor(^uintptr(0), ""); !errors.Is(err, unix.EBADF) {
		t.Errorf("no descriptor: %v", err)
	}
}

// The anchor outlives the descriptor that it was placed by, and its check takes it
// again where a child gave it up for all.
func TestAnchor(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir, os.O_RDONLY), open(t, dir, os.O_RDONLY)
	anchor, err := oslock.TryAnchor(a.Fd(), "")
	must(t, err)
	must(t, a.Close())
	if held, err := oslock.AnchorHeld(b.Fd(), ""); err != nil || !held {
		t.Errorf("held %v, %v", held, err)
	}
	if _, err := oslock.TryAnchor(b.Fd(), ""); err != oslock.ErrHeld {
		t.Errorf("a second one: %v", err)
	}
	must(t, anchor.Check())
	must(t, oslock.Unlock(anchor.FD(), oslock.Owner))
	must(t, anchor.Check())
	if held, err := oslock.AnchorHeld(b.Fd(), ""); err != nil || !held {
		t.Errorf("after the check: held %v, %v", held, err)
	}
	must(t, oslock.Unlock(anchor.FD(), oslock.Owner))
	other, err := oslock.TryAnchor(b.Fd(), "")
	must(t, err)
	if err := anchor.Check(); err != oslock.ErrHeld {
		t.Errorf("somebody else has it: %v", err)
	}
	other.Drop(false)
	anchor.Drop(false)
	if held, err := oslock.AnchorHeld(b.Fd(), ""); err != nil || held {
		t.Errorf("after the end: held %v, %v", held, err)
	}
}

// An anchor that a child shares stays with the child.
func TestSharedAnchorStays(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir, os.O_RDONLY), open(t, dir, os.O_RDONLY)
	anchor, err := oslock.TryAnchor(a.Fd(), "")
	must(t, err)
	dup, err := unix.Dup(int(anchor.FD()))
	must(t, err)
	child := exec.Command("cat")
	child.ExtraFiles = []*os.File{os.NewFile(uintptr(dup), "anchor")}
	in, err := child.StdinPipe()
	must(t, err)
	must(t, child.Start())
	must(t, child.ExtraFiles[0].Close())
	must(t, a.Close())
	anchor.Drop(true)
	if held, err := oslock.AnchorHeld(b.Fd(), ""); err != nil || !held {
		t.Errorf("beside the child: held %v, %v", held, err)
	}
	must(t, in.Close())
	must(t, child.Wait())
	if held, err := oslock.AnchorHeld(b.Fd(), ""); err != nil || held {
		t.Errorf("after the child: held %v, %v", held, err)
	}
}
