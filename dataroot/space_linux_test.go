package dataroot_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/solehold/solehold/dataroot"
)

var _ dataroot.Storage = (*dataroot.Space)(nil)

// No path, link or rename leads out of a root.
func TestNothingLeaves(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := open(t, base, "kb", &dataroot.Options{Pins: pins})
	links := map[string]string{"abs": outside, "up": "../../../../../../../../" + outside, "proc": "/proc/self/fd/3", "dir": filepath.Dir(outside), "cwd": "/proc/self/cwd"}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(r.Dir(), name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		"../x", "..", "a/../../x", "/etc/x", "", ".", "a//b", `..\x`, `a\..\..\x`, "dir/outside", "dir/new", "cwd/new", ".solehold/lock", ".root.json",
		"\x00", "./x",
	} {
		if err := r.WriteFile(name, []byte("mine")); err == nil {
			t.Errorf("%q was written", name)
		}
		if err := r.Remove(name); err == nil {
			t.Errorf("%q was removed", name)
		}
	}
	for _, name := range []string{"abs", "up", "proc", "dir/outside", "../kb/.root.json", "/etc/passwd"} {
		if text, err := fs.ReadFile(r, name); err == nil {
			t.Errorf("%q was read: %q", name, text)
		}
	}
	if err := r.WriteFile("abs", []byte("mine")); err != nil { // takes the link's place
		t.Error(err)
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "theirs" {
		t.Errorf("outside is %q, %v", text, err)
	}
}

// A folder that is swapped for a link while files are written never leads out.
func TestSwappedFolder(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	outside := t.TempDir()
	r := open(t, base, "kb", &dataroot.Options{Pins: pins})
	folder := filepath.Join(r.Dir(), "f")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				os.RemoveAll(folder)
				os.Symlink(outside, folder)
				os.Remove(folder)
			}
		}
	})
	for range 2000 {
		r.WriteFile("f/x", []byte("mine"))
	}
	close(stop)
	wg.Wait()
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("%d files came out, %v", len(left), err)
	}
}

// Readers beside a writer see whole files only.
func TestWriteFileIsWhole(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	r := open(t, base, "kb", &dataroot.Options{Pins: pins})
	texts := []string{strings.Repeat("a", 100_000), strings.Repeat("b", 50_000)}
	if err := r.WriteFile("x", []byte(texts[0])); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 300 {
			if err := r.WriteFile("x", []byte(texts[i%2])); err != nil {
				t.Error(err)
			}
		}
	}()
	for {
		text, err := fs.ReadFile(r, "x")
		if err != nil || string(text) != texts[0] && string(text) != texts[1] {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
		select {
		case <-done:
			entries, err := fs.ReadDir(r, ".")
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), ".new-") {
					t.Errorf("left behind: %s", e.Name())
				}
			}
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
	}
}

func TestSpaces(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	r := open(t, base, "kb", &dataroot.Options{Pins: pins})
	s, err := r.Space.Space("cache")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.WriteFile("x", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if text, err := fs.ReadFile(r, "cache/x"); err != nil || string(text) != "1" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := fs.ReadFile(s, "../.root.json"); err == nil {
		t.Error("a space shows what is above it")
	}
	if _, err := r.Space.Space("Up"); !errors.Is(err, dataroot.ErrName) {
		t.Errorf("%v", err)
	}
	if err := s.Remove("x"); err != nil {
		t.Error(err)
	}
}

// A space that is closed while the root stays open says so at each use.
func TestClosedSpace(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	r := open(t, base, "kb", &dataroot.Options{Pins: pins})
	s, err := r.Space.Space("cache")
	must(t, err, s.Close())
	_, openErr := s.Open("x")
	_, usageErr := s.Usage()
	_, spaceErr := s.Space("deeper")
	for i, err := range []error{s.WriteFile("x", nil), s.WriteFile("a/b/x", nil), s.Remove("x"), openErr, usageErr, spaceErr} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("use %d: %v", i, err)
		}
	}
	must(t, r.WriteFile("cache/x", nil))
}

// What was agreed on stays with the root until something else is, and is told to
// whoever lists it.
func TestQuota(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	for _, c := range []struct {
		given, want int64
		over        bool
	}{{0, 0, false}, {10, 10, true}, {0, 10, true}, {1 << 20, 1 << 20, false}, {0, 1 << 20, false}} {
		r := open(t, base, "kb", &dataroot.Options{Pins: pins, Quota: c.given})
		must(t, r.WriteFile("x", make([]byte, 100)))
		u, err := r.Usage()
		if err != nil || u.Quota != c.want || u.Over() != c.over || r.Meta().Quota != c.want {
			t.Errorf("%+v: %v, %+v, %v", c, u, r.Meta(), err)
		}
		r.Close()
		all, err := dataroot.List(base)
		must(t, err)
		if seen, err := all[0].Usage(); err != nil || seen.Quota != c.want || seen.Over() != c.over || seen.Files < 2 {
			t.Errorf("%+v: listed with %v, %v", c, seen, err)
		}
	}
}
