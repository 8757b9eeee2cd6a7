package datadir_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/procfs"
	"golang.org/x/sys/windows"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a directory whose removal is not the test's business: Wine lacks a call
// for that.
func place(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "Data Dir")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func fresh(t *testing.T) (*datadir.State, string) {
	t.Helper()
	dir := place(t)
	d, err := datadir.Open(dir)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	s, err := d.OpenState(true)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s, dir
}

func refused(t *testing.T, err error, word string) {
	t.Helper()
	var r *datadir.RefusedError
	if !errors.As(err, &r) || !strings.Contains(r.Why, word) {
		t.Errorf("want refused with %q, got %v", word, err)
	}
}

// One directory has one key and one path, however it is spelled.
func TestOneKey(t *testing.T) {
	dir := place(t)
	want, err := datadir.KeyOf(dir)
	must(t, err)
	if want.Dev == 0 || want.Ino == 0 {
		t.Errorf("key %s", want)
	}
	for _, spelling := range []string{
		strings.ToUpper(dir), dir + `\`, dir + `\.\`, dir + `\..\` + filepath.Base(dir), filepath.ToSlash(dir), `\\?\` + dir, dir + ".",
	} {
		key, err := datadir.KeyOf(spelling)
		must(t, err)
		d, err := datadir.Open(spelling)
		must(t, err)
		if key != want || d.Key() != want {
			t.Errorf("%q: keys %s and %s, want %s", spelling, key, d.Key(), want)
		}
		if p := d.Path(); !strings.EqualFold(p, dir) || strings.HasPrefix(p, `\\?\`) {
			t.Errorf("%q: path %q, want %q", spelling, p, dir)
		}
		if d.Given() != spelling || d.Gone() {
			t.Errorf("given %q, gone %v", d.Given(), d.Gone())
		}
		must(t, d.Close())
	}
	other, err := datadir.KeyOf(place(t))
	must(t, err)
	if other == want {
		t.Error("two directories, one key")
	}
}

func TestNotADirectory(t *testing.T) {
	dir := place(t)
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if _, err := datadir.Open(file); err == nil {
		t.Error("a file was opened as a directory")
	}
	for _, path := range []string{filepath.Join(dir, "none"), filepath.Join(dir, "no", "ne")} {
		if _, err := datadir.Open(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := datadir.KeyOf(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	must(t, datadir.Create(filepath.Join(dir, "new")))
	must(t, datadir.Create(filepath.Join(dir, "new")))
	if err := datadir.Create(filepath.Join(dir, "a", "b")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a parent: %v", err)
	}
}

func TestStateIsMadeOnce(t *testing.T) {
	dir := place(t)
	d, err := datadir.Open(dir)
	must(t, err)
	defer d.Close()
	if _, err := d.OpenState(false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before it is made: %v", err)
	}
	if _, err := datadir.StateOf(dir, ""); !errors.Is(err, datadir.ErrNoState) {
		t.Errorf("before it is made: %v", err)
	}
	a, err := d.OpenState(true)
	must(t, err)
	defer a.Close()
	must(t, a.Here())
	b, err := datadir.StateOf(dir, "")
	must(t, err)
	must(t, b.Close())
	if err := os.Rename(a.Path(), a.Path()+"2"); err == nil {
		t.Error("an open state directory was renamed")
	}
}

// The lock file is made once, never truncated, and nobody takes it away while it is
// open.
func TestLockFile(t *testing.T) {
	s, _ := fresh(t)
	if _, err := s.OpenLock(false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before it is made: %v", err)
	}
	f, err := s.OpenLock(true)
	must(t, err)
	defer f.Close()
	if _, err := f.WriteAt([]byte("content"), 4096); err != nil {
		t.Error(err)
	}
	must(t, f.Sync())
	again, err := s.OpenLock(true)
	must(t, err)
	defer again.Close()
	if size, err := again.Size(); err != nil || size != 4096+7 || again.Key() != f.Key() {
		t.Errorf("size %d, %v", size, err)
	}
	buf := make([]byte, 10)
	if n, err := again.ReadAt(buf, 4096); n != 7 || err != io.EOF || string(buf[:n]) != "content" {
		t.Errorf("read %q, %v", buf[:n], err)
	}
	if n, err := again.ReadAt(buf, 1<<20); n != 0 || err != io.EOF {
		t.Errorf("behind the end: %d, %v", n, err)
	}
	must(t, s.SameLock(f))
	if os.Remove(f.Path()) == nil || os.Rename(f.Path(), f.Path()+"2") == nil {
		t.Error("the open lock file was taken away")
	}
	for _, err := range []error{s.Remove("lock"), s.Rename("lock", "x"), s.Rename("x", "lock"), s.PutNew("lock", nil)} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("the lock was touched: %v", err)
		}
	}
}

// Small files may be replaced and renamed while others have them open.
func TestSmallFiles(t *testing.T) {
	s, _ := fresh(t)
	must(t, s.PutNew("release", []byte("one")))
	if err := s.PutNew("release", []byte("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one: %v", err)
	}
	f, err := s.OpenRead("release")
	must(t, err)
	defer f.Close()
	must(t, s.Same("release", f))
	must(t, s.Move("release", "aside"))
	if err := s.Same("release", f); !errors.Is(err, datadir.ErrMoved) {
		t.Errorf("after it was moved: %v", err)
	}
	must(t, s.PutNew("release", []byte("three")))
	if err := s.Move("aside", "release"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto another: %v", err)
	}
	must(t, s.Put("release", []byte("four")))
	if text, err := fs.ReadFile(s, "release"); err != nil || string(text) != "four" {
		t.Errorf("read %q, %v", text, err)
	}
	must(t, s.Remove("aside"))
	must(t, s.Remove("release"))
	if err := s.Remove("release"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("once more: %v", err)
	}
	if _, err := s.Open(`..\x`); err == nil {
		t.Error("it leads outside")
	}
}

// What is appended stays, whatever was written before, also by another handle.
func TestAppend(t *testing.T) {
	s, _ := fresh(t)
	a, err := s.OpenAppend("history.jsonl")
	must(t, err)
	defer a.Close()
	b, err := s.OpenAppend("history.jsonl")
	must(t, err)
	defer b.Close()
	for i, f := range []datadir.File{a, b, a, b} {
		if _, err := f.Write([]byte{'0' + byte(i), '\n'}); err != nil {
			t.Error(err)
		}
	}
	if text, err := fs.ReadFile(s, "history.jsonl"); err != nil || string(text) != "0\n1\n2\n3\n" {
		t.Errorf("read %q, %v", text, err)
	}
	must(t, s.Rename("history.jsonl", "history.jsonl.1"))
	if _, err := a.Write([]byte("late\n")); err != nil {
		t.Errorf("after the rotation: %v", err)
	}
}

func TestPlanted(t *testing.T) {
	s, dir := fresh(t)
	must(t, os.Mkdir(filepath.Join(s.Path(), "refusals"), 0o700))
	_, err := s.OpenWrite("refusals")
	refused(t, err, "a directory")
	must(t, os.WriteFile(filepath.Join(dir, "mine"), []byte("x"), 0o600))
	must(t, os.Link(filepath.Join(dir, "mine"), filepath.Join(s.Path(), "history.jsonl")))
	_, err = s.OpenAppend("history.jsonl")
	refused(t, err, "second name")
	other := place(t)
	must(t, os.WriteFile(filepath.Join(other, datadir.StateName), nil, 0o600))
	d, err := datadir.Open(other)
	must(t, err)
	defer d.Close()
	_, err = d.OpenState(true)
	refused(t, err, "a file")
}

// Who has a file for himself makes others wait and fail, and is no holder.
func TestSharingViolation(t *testing.T) {
	s, _ := fresh(t)
	f, err := s.OpenLock(true)
	must(t, err)
	must(t, f.Close())
	name, err := windows.UTF16PtrFromString(f.Path())
	must(t, err)
	h, err := windows.CreateFile(name, windows.GENERIC_READ, 0, nil, windows.OPEN_EXISTING, 0, 0)
	must(t, err)
	if _, err := s.OpenLock(true); !errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
		t.Errorf("got %v", err)
	}
	must(t, windows.CloseHandle(h))
	f, err = s.OpenLock(true)
	must(t, err)
	must(t, f.Close())
}

func TestRootIsTheState(t *testing.T) {
	s, _ := fresh(t)
	root, err := s.Root()
	must(t, err)
	must(t, root.Mkdir("incidents", 0o700))
	must(t, root.Close())
	if _, err := os.Stat(filepath.Join(s.Path(), "incidents")); err != nil {
		t.Error(err)
	}
}

func TestVolume(t *testing.T) {
	d, err := datadir.Open(place(t))
	must(t, err)
	defer d.Close()
	class, err := d.FilesystemClass()
	must(t, err)
	if fsys := d.Filesystem(procfs.Default()); fsys.Type == "" || fsys.Class != class || fsys.Point == "" {
		t.Errorf("file system %+v of class %s", fsys, class)
	}
	must(t, d.Check())
	if d.UID() != -1 {
		t.Errorf("uid %d", d.UID())
	}
}
