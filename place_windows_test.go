package solehold_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/oslock"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/windows"
)

// Whatever text leads to it: one directory has one owner.
func TestSpellingsOfWindows(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(place(t), "Long Directory Name")
	must(t, os.Mkdir(dir, 0o755))
	hold(t, dir)
	other := start(t)
	for _, spelling := range []string{
		dir, strings.ToUpper(dir), strings.ToLower(dir), dir + `\`, dir + `\.`, dir + ".", dir + " ",
		filepath.ToSlash(dir), `\\?\` + dir, `\\.\` + dir, dir + `\..\Long Directory Name`, short(t, dir),
	} {
		got := other.acquire(t, spelling)
		wantHeld(t, got)
		if !strings.EqualFold(got.Path, dir) || got.Owner.PID != os.Getpid() {
			t.Errorf("%q: path %s, owner %+v", spelling, got.Path, got.Owner)
		}
		if _, err := solehold.Acquire(context.Background(), spelling, patient()); !errors.Is(err, solehold.ErrHeld) {
			t.Errorf("%q in this process: %v", spelling, err)
		}
		wantState(t, spelling, solehold.Held)
	}
}

// short is the spelling in names of eight and three characters, where the volume
// makes them.
func short(t *testing.T, path string) string {
	t.Helper()
	name, err := windows.UTF16PtrFromString(path)
	must(t, err)
	buf := make([]uint16, 1024)
	n, err := windows.GetShortPathName(name, &buf[0], uint32(len(buf)))
	must(t, err)
	s := windows.UTF16ToString(buf[:n])
	t.Logf("%s is %s", path, s)
	return s
}

// A path longer than Windows' old limit is as good as any.
func TestLongPathOfWindows(t *testing.T) {
	t.Parallel()
	dir := place(t)
	for range 6 {
		dir = filepath.Join(dir, strings.Repeat("long", 15))
	}
	must(t, os.MkdirAll(dir, 0o755))
	hold(t, dir)
	other := start(t)
	wantHeld(t, other.acquire(t, dir))
	wantHeld(t, other.acquire(t, `\\?\`+dir))
}

// inheritable counts the handles of this process that a child would get.
func inheritable() map[windows.Handle]bool {
	found := map[windows.Handle]bool{}
	information := windows.NewLazySystemDLL("kernel32.dll").NewProc("GetHandleInformation")
	for h := windows.Handle(4); h < 0x4000; h += 4 {
		var flags uint32
		if ok, _, _ := information.Call(uintptr(h), uintptr(unsafe.Pointer(&flags))); ok != 0 && flags&windows.HANDLE_FLAG_INHERIT != 0 {
			found[h] = true
		}
	}
	return found
}

// No child inherits what holds a directory unless it was told to (case C38), so
// that one which outlives the holder keeps nothing.
func TestHandlesAreNotInherited(t *testing.T) {
	before := inheritable()
	dir := dataDir(t)
	lock := hold(t, dir)
	must(t, lock.Ready())
	for h := range inheritable() {
		if !before[h] {
			t.Errorf("handle %#x is inheritable", h)
		}
	}
	holder := start(t)
	other := dataDir(t)
	wantFree(t, holder.acquire(t, other))
	child := holder.must(t, order{Do: "share", N: 0})
	t.Cleanup(func() { end(child.N) })
	holder.kill()
	third := start(t)
	testneed.Until(t, "it is free beside the child", func() bool { return third.acquire(t, other).ok() })
}

func end(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
	}
}

// A child that was given the handles keeps the directory when the holder dies.
func TestSharedHandleKeepsTheDirectory(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	holder, third := start(t), start(t)
	wantFree(t, holder.acquire(t, dir))
	child := holder.must(t, order{Do: "share", N: 1})
	holder.kill()
	wantHeld(t, third.acquire(t, dir))
	if s := third.inspect(t, dir); s.State != solehold.Held || len(s.Findings) != 1 {
		t.Errorf("status %+v", s)
	}
	end(child.N)
	testneed.Until(t, "it is free after the child", func() bool { return third.acquire(t, dir).ok() })
}

// systemOrders are those for Windows alone.
func (a *actor) systemOrders() map[string]func(order) answer {
	return map[string]func(order) answer{"local": local}
}

// anchorOf is the name of a directory's object, without its name space.
func anchorOf(t testing.TB, dir string) string {
	t.Helper()
	key, err := datadir.KeyOf(dir)
	must(t, err)
	return fmt.Sprintf("solehold-%d-%d", key.Dev, key.Ino)
}

// The object of a holder is there for every session: whoever looks for it in its
// own session alone finds nothing, and would start a second copy (case C50).
func TestObjectIsOfAllSessions(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	hold(t, dir)
	other := start(t)
	wantHeld(t, other.acquire(t, dir))
	name := anchorOf(t, dir)
	if got := other.must(t, order{Do: "local", Dir: name}); got.Held {
		t.Error("the object is of this session too; the planted mistake proves nothing")
	}
	held, err := oslock.AnchorHeld(0, name)
	if err != nil || !held {
		t.Errorf("the object is not of all sessions: %v, %v", held, err)
	}
	text, err := windows.UTF16PtrFromString(`Global\` + name)
	must(t, err)
	h, err := windows.OpenEvent(windows.EVENT_MODIFY_STATE, false, text)
	if err != windows.ERROR_ACCESS_DENIED {
		windows.CloseHandle(h)
		t.Errorf("somebody could open it, and keep the directory held by that: %v", err)
	}
}

// local is the mistake: a name in the session's own name space.
func local(o order) answer {
	name, err := windows.UTF16PtrFromString(`Local\` + o.Dir)
	if err != nil {
		return failure(err)
	}
	h, err := windows.CreateEvent(nil, 1, 0, name)
	windows.CloseHandle(h)
	return answer{Held: err == windows.ERROR_ALREADY_EXISTS}
}

// An object that others have made, of any kind and open to nobody, means held: no
// answer of the system becomes a start.
func TestForeignObjectMeansHeld(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(*uint16) (windows.Handle, error){
		"event": func(n *uint16) (windows.Handle, error) { return windows.CreateEvent(nil, 1, 0, n) },
		"mutex": func(n *uint16) (windows.Handle, error) { return windows.CreateMutex(nil, false, n) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			text, err := windows.UTF16PtrFromString(`Global\` + anchorOf(t, dir))
			must(t, err)
			h, err := make(text)
			must(t, err)
			other := start(t)
			wantHeld(t, other.acquire(t, dir))
			must(t, windows.CloseHandle(h))
			wantFree(t, other.acquire(t, dir))
		})
	}
}

// While it is held nobody can take away the lock file or the directories.
func TestHeldFilesStay(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	for what, act := range map[string]func() error{
		"remove the lock":  func() error { return os.Remove(lockFile(dir)) },
		"rename the lock":  func() error { return os.Rename(lockFile(dir), lockFile(dir)+".old") },
		"rename the state": func() error { return os.Rename(stateDir(dir), stateDir(dir)+".old") },
		"rename the data":  func() error { return os.Rename(dir, dir+".old") },
	} {
		if act() == nil {
			t.Errorf("%s: done", what)
		}
	}
	wantState(t, dir, solehold.Held)
	wantKept(t, lock)
}

// What needs another system says so.
func TestUnsupportedOnWindows(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	if err := lock.Become([]string{"next"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("become: %v", err)
	}
	if _, err := solehold.Sharers(t.Context(), dir, patient()); !errors.Is(err, errors.ErrUnsupported) || solehold.ExitCode(err) != 64 {
		t.Errorf("sharers: %v", err)
	}
}

// Session and account are in the record, for those who look from another session.
func TestSessionIsTold(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	holder := start(t)
	wantFree(t, holder.acquire(t, dir))
	r := recordOf(t, dir)
	if r.Holder.User == "" || r.Holder.UID != -1 || r.Holder.StartTicks == 0 || !strings.HasPrefix(r.Holder.Origin.By, "session ") {
		t.Errorf("record %+v", r.Holder)
	}
	got := start(t).acquire(t, dir)
	if !strings.Contains(got.Text, "started by session ") || !strings.Contains(got.Text, "user ") {
		t.Errorf("the refusal does not name the session: %s", got.Text)
	}
}
