package oslock_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/solehold/solehold/internal/oslock"
	"golang.org/x/sys/windows"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func lockFile(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "oslock")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "lock")
	must(t, os.WriteFile(path, []byte("content"), 0o600))
	return path
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func wantHeld(t *testing.T, f *os.File, want bool) {
	t.Helper()
	if got, err := oslock.Held(f.Fd(), oslock.Owner); err != nil || got != want {
		t.Errorf("Held = %v, %v; want %v", got, err, want)
	}
}

func TestExclusion(t *testing.T) {
	path := lockFile(t)
	a, b := open(t, path), open(t, path)
	wantHeld(t, b, false)
	must(t, oslock.TryLock(a.Fd(), oslock.Owner))
	if err := oslock.TryLock(b.Fd(), oslock.Owner); err != oslock.ErrHeld {
		t.Fatalf("second handle: %v, want ErrHeld", err)
	}
	wantHeld(t, b, true)
	wantHeld(t, b, true)                         // asking takes nothing
	must(t, oslock.TryLock(b.Fd(), oslock.Seat)) // the bytes are independent
	must(t, oslock.Unlock(a.Fd(), oslock.Owner))
	must(t, oslock.Unlock(a.Fd(), oslock.Owner))
	must(t, oslock.TryLock(b.Fd(), oslock.Owner))
}

// The content stays readable, since the lock is on a byte far behind it.
func TestContentIsReadWhileHeld(t *testing.T) {
	path := lockFile(t)
	must(t, oslock.TryLock(open(t, path).Fd(), oslock.Owner))
	if text, err := os.ReadFile(path); err != nil || string(text) != "content" {
		t.Errorf("read %q, %v", text, err)
	}
}

func TestLastCloseUnlocks(t *testing.T) {
	path := lockFile(t)
	a, b := open(t, path), open(t, path)
	must(t, oslock.TryLock(a.Fd(), oslock.Owner))
	for range 20 { // others of this process drop nothing (case C37)
		f := open(t, path)
		wantHeld(t, f, true)
		must(t, f.Close())
	}
	must(t, a.Close())
	must(t, oslock.TryLock(b.Fd(), oslock.Owner))
}

func TestErrnoSurvives(t *testing.T) {
	err := oslock.TryLock(uintptr(windows.InvalidHandle), oslock.Owner)
	if err == nil || errors.Is(err, oslock.ErrHeld) {
		t.Errorf("no handle: %v", err)
	}
	if _, err := oslock.Held(uintptr(windows.InvalidHandle), oslock.Owner); err == nil {
		t.Error("no handle: it is not held")
	}
}

// name is one that no other test has.
func name(t *testing.T) string { return fmt.Sprintf("solehold-test-%d-%s", os.Getpid(), t.Name()) }

func wantAnchor(t *testing.T, name string, want bool) {
	t.Helper()
	if got, err := oslock.AnchorHeld(0, name); err != nil || got != want {
		t.Errorf("AnchorHeld = %v, %v; want %v", got, err, want)
	}
}

func TestAnchorIsItsExistence(t *testing.T) {
	n := name(t)
	wantAnchor(t, n, false)
	a, err := oslock.TryAnchor(0, n)
	must(t, err)
	must(t, a.Check())
	wantAnchor(t, n, true)
	wantAnchor(t, n, true)
	if _, err := oslock.TryAnchor(0, n); err != oslock.ErrHeld {
		t.Errorf("a second one: %v, want ErrHeld", err)
	}
	a.Drop(false)
	a.Drop(false) // once more does nothing
	wantAnchor(t, n, false)
	if err := a.Check(); err != oslock.ErrHeld {
		t.Errorf("the check of none: %v", err)
	}
	b, err := oslock.TryAnchor(0, n)
	must(t, err)
	b.Drop(true)
	wantAnchor(t, n, false)
}

// Nobody may open it, so that neither a question nor a stranger keeps it in being;
// and that it may not be opened is an answer.
func TestAnchorCannotBeOpened(t *testing.T) {
	n := name(t)
	a, err := oslock.TryAnchor(0, n)
	must(t, err)
	text, err := windows.UTF16PtrFromString(`Global\` + n)
	must(t, err)
	// SYNCHRONIZE alone is not asked here: Wine grants that whatever the rights are.
	for _, access := range []uint32{windows.EVENT_MODIFY_STATE, windows.EVENT_ALL_ACCESS, windows.EVENT_MODIFY_STATE | windows.SYNCHRONIZE} {
		if h, err := windows.OpenEvent(access, false, text); err != windows.ERROR_ACCESS_DENIED {
			windows.CloseHandle(h)
			t.Errorf("access %#x: %v, want ERROR_ACCESS_DENIED", access, err)
		}
	}
	a.Drop(false)
	wantAnchor(t, n, false)
}

// Objects of other kinds under the name, and with other rights, mean held.
func TestForeignAnchor(t *testing.T) {
	for kind, make := range map[string]func(*windows.SecurityAttributes, *uint16) (windows.Handle, error){
		"event": func(sa *windows.SecurityAttributes, n *uint16) (windows.Handle, error) {
			return windows.CreateEvent(sa, 1, 0, n)
		},
		"mutex": func(sa *windows.SecurityAttributes, n *uint16) (windows.Handle, error) {
			return windows.CreateMutex(sa, false, n)
		},
	} {
		t.Run(kind, func(t *testing.T) {
			n := fmt.Sprintf("solehold-test-%d-foreign-%s", os.Getpid(), kind)
			text, err := windows.UTF16PtrFromString(`Global\` + n)
			must(t, err)
			h, err := make(nil, text)
			must(t, err)
			wantAnchor(t, n, true)
			if _, err := oslock.TryAnchor(0, n); err != oslock.ErrHeld {
				t.Errorf("got %v, want ErrHeld", err)
			}
			must(t, windows.CloseHandle(h))
			wantAnchor(t, n, false)
		})
	}
}

// A name that cannot be one is no holder.
func TestImpossibleName(t *testing.T) {
	if _, err := oslock.TryAnchor(0, "a\x00b"); err == nil || errors.Is(err, oslock.ErrHeld) {
		t.Errorf("got %v", err)
	}
	if held, err := oslock.AnchorHeld(0, `no\such\space`); held && err == nil {
		t.Error("a name in a space that is not there is held")
	}
}

// A turn in the queue for a free lock comes at once, and closing one that waits
// ends the wait and leaves no lock behind.
func TestTurn(t *testing.T) {
	path := lockFile(t)
	a := open(t, path)
	turn, err := oslock.NewTurn(path, oslock.Owner)
	must(t, err)
	event, err := windows.WaitForSingleObject(windows.Handle(turn.Event()), 0)
	must(t, err)
	if event != windows.WAIT_OBJECT_0 {
		t.Error("the lock is free, and the turn does not come")
	}
	turn.Close()
	must(t, oslock.TryLock(a.Fd(), oslock.Owner))
	waiting, err := oslock.NewTurn(path, oslock.Owner)
	must(t, err)
	event, err = windows.WaitForSingleObject(windows.Handle(waiting.Event()), 0)
	if err == nil && event == windows.WAIT_OBJECT_0 {
		t.Error("the turn comes while the lock is held")
	}
	waiting.Close()
	must(t, oslock.Unlock(a.Fd(), oslock.Owner))
	must(t, oslock.TryLock(a.Fd(), oslock.Owner))
	if _, err := oslock.NewTurn(path+".none", oslock.Owner); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
