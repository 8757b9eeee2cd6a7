package dataroot_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/dataroot"
)

func TestRoot(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	r := open(t, base, "kb", &dataroot.Options{Pins: pins, Quota: 10})
	if st, err := os.Stat(r.Dir()); err != nil || st.Mode().Perm() != 0o700 || filepath.Base(r.Dir()) != "kb" {
		t.Fatalf("%s: %v, %v", r.Dir(), st, err)
	}
	if err := r.WriteFile("a/b/c.txt", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(r, "a/b/c.txt"); err != nil {
		t.Error(err)
	}
	u, err := r.Usage()
	if err != nil || u.Files < 1 || !u.Over() {
		t.Errorf("%v, %v", u, err)
	}
	before := r.Meta()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, base, "kb", &dataroot.Options{Pins: pins, MustExist: true})
	if again.Meta().UUID != before.UUID || before.UUID == "" || again.Lock().Token() != 2 {
		t.Errorf("%+v is not %+v", again.Meta(), before)
	}
	text, err := fs.ReadFile(again, "a/b/c.txt")
	if err != nil || string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
}

// A root that is open is refused with its owner, in this process and in another.
func TestSecondOpen(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	other := holder(t, base, pins, "kb")
	_, err := dataroot.Open(t.Context(), base, "kb", &dataroot.Options{Pins: pins})
	var held *solehold.HeldError
	if !errors.As(err, &held) || held.Holder().PID != other.Process.Pid {
		t.Fatalf("%v", err)
	}
	open(t, base, "mine", &dataroot.Options{Pins: pins})
	if _, err := dataroot.Open(t.Context(), base, "mine", &dataroot.Options{Pins: pins}); !errors.Is(err, solehold.ErrHeld) {
		t.Errorf("a second time in one process: %v", err)
	}
}

// 1,000 opens of 100 names at once give 100 roots, and none is shared.
func TestManyOpens(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	var mu sync.Mutex
	owners := map[string]int{}
	var wg sync.WaitGroup
	room := make(chan struct{}, 64)
	for i := range 1000 {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			r, err := dataroot.Open(t.Context(), base, fmt.Sprintf("s%d", i%100), &dataroot.Options{Pins: pins})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				owners[r.Dir()]++
				t.Cleanup(func() { r.Close() })
			case !errors.Is(err, solehold.ErrHeld):
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
	for dir, n := range owners {
		if n != 1 {
			t.Errorf("%s has %d owners", dir, n)
		}
	}
	all, err := dataroot.List(base)
	if err != nil || len(owners) != 100 || len(all) != 100 {
		t.Errorf("%d roots, %d listed, %v", len(owners), len(all), err)
	}
}

func TestBases(t *testing.T) {
	t.Parallel()
	pins := t.TempDir()
	missing, file, anybody := filepath.Join(t.TempDir(), "no"), filepath.Join(t.TempDir(), "file"), t.TempDir()
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chmod(anybody, 0o1777)); err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{"", missing, file, anybody} {
		var bad *dataroot.BaseError
		if r, err := dataroot.Open(t.Context(), base, "kb", &dataroot.Options{Pins: pins}); !errors.As(err, &bad) {
			t.Errorf("%q: %v, %v", base, r, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(anybody, "*")); len(left) > 0 {
		t.Errorf("made all the same: %v", left)
	}
}

// A directory with files of somebody else does not become a root.
func TestStranger(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	dir := filepath.Join(base, "kb")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "theirs"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := dataroot.Open(t.Context(), base, "kb", &dataroot.Options{Pins: pins}); !errors.Is(err, dataroot.ErrStranger) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".root.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was marked: %v", err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := dataroot.Open(t.Context(), base, "link", &dataroot.Options{Pins: pins}); err == nil {
		t.Error("a link in a root's place was followed")
	}
}

// A root is not born again on another disk, nor used there after it was copied.
func TestPinned(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	r := open(t, base, "kb", &dataroot.Options{Pins: pins})
	elsewhere := fmt.Sprintf(`{"path":%q,"device":{"type":"ext4","source":"/dev/other","id":"1"}}`, r.Dir())
	r.Close()
	notes, err := filepath.Glob(filepath.Join(pins, "*.json"))
	if err != nil || len(notes) != 1 {
		t.Fatalf("%v, %v", notes, err)
	}
	if err := errors.Join(os.WriteFile(notes[0], []byte(elsewhere), 0o600), os.RemoveAll(r.Dir())); err != nil {
		t.Fatal(err)
	}
	var pinned *dataroot.PinnedError
	if _, err := dataroot.Open(t.Context(), base, "kb", &dataroot.Options{Pins: pins}); !errors.As(err, &pinned) || pinned.Born.Source != "/dev/other" {
		t.Fatalf("born again: %v", err)
	}
	if _, err := os.Stat(r.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
	again := open(t, base, "kb", &dataroot.Options{Pins: pins, Adopt: true}) // which changes the note
	again.Close()
	open(t, base, "kb", &dataroot.Options{Pins: pins}).Close()
	if err := os.RemoveAll(r.Dir()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(notes[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := dataroot.Open(t.Context(), base, "kb", &dataroot.Options{Pins: pins}); err == nil {
		t.Error("a note that cannot be read was taken for none")
	}
}
