package datadir_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// rooted checks that a root of s is the state directory at path.
func rooted(t *testing.T, s *datadir.State, path string) {
	t.Helper()
	root, err := s.Root()
	must(t, err)
	defer root.Close()
	must(t, root.Mkdir("made", 0o700))
	st, err := os.Stat(filepath.Join(path, "made"))
	must(t, err)
	in, err := root.Stat("made")
	if err != nil || !os.SameFile(st, in) {
		t.Errorf("%s is another directory: %v", path, err)
	}
	must(t, root.Remove("made"))
}

// The root is the directory that was opened, wherever that was moved to and
// whatever lies at its path by now.
func TestRoot(t *testing.T) {
	t.Parallel()
	dir := mkdir(t, place(t)+"/data", -1, 0o750)
	s := state(t, open(t, dir))
	rooted(t, s, dir+"/.solehold")
	must(t, os.Rename(dir+"/.solehold", dir+"/moved"))
	must(t, os.Mkdir(dir+"/.solehold", 0o700))
	rooted(t, s, dir+"/moved")
}

// Without /proc the path serves, if it still leads there; a /proc that lies is
// not believed.
func TestRootWithoutProc(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	if !inside(t, ownMounts()) {
		return
	}
	dir := mkdir(t, place(t)+"/data", -1, 0o750)
	s := state(t, open(t, dir))
	must(t, unix.Mount("none", "/proc", "tmpfs", 0, ""))
	rooted(t, s, dir+"/.solehold")
	other := mkdir(t, place(t)+"/other", -1, 0o700)
	must(t, os.MkdirAll("/proc/self/fd", 0o700))
	must(t, os.Symlink(other, fmt.Sprintf("/proc/self/fd/%d", s.FD())))
	rooted(t, s, dir+"/.solehold")
	must(t, os.Rename(dir+"/.solehold", dir+"/moved"))
	must(t, os.Symlink(other, dir+"/.solehold"))
	root, err := s.Root()
	if root != nil || !errors.Is(err, datadir.ErrMoved) || !strings.Contains(err.Error(), dir+"/.solehold") {
		t.Errorf("another directory was taken: %v", err)
	}
}

// A file comes under its name whole or not at all, and nothing else stays.
func TestPut(t *testing.T) {
	t.Parallel()
	dir := mkdir(t, place(t)+"/data", -1, 0o750)
	s := state(t, open(t, dir))
	path := dir + "/.solehold/release"
	must(t, s.PutNew("release", []byte("one")))
	if err := s.PutNew("release", []byte("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another: %v", err)
	}
	content(t, path, "one")
	must(t, s.Put("release", []byte("three")))
	content(t, path, "three")
	st, err := os.Stat(path)
	must(t, err)
	if st.Mode() != 0o640 {
		t.Errorf("mode %v", st.Mode())
	}
	victim := dir + "/victim"
	must(t, os.WriteFile(victim, []byte("precious"), 0o600))
	must(t, os.Remove(path))
	must(t, os.Symlink(victim, path))
	if err := s.PutNew("release", nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a symlink: %v", err)
	}
	must(t, s.Put("release", []byte("four")))
	content(t, victim, "precious")
	content(t, path, "four")
	if s.Put("lock", nil) == nil || s.PutNew("lock", nil) == nil || s.Move("lock", "x") == nil || s.Move("release", "lock") == nil {
		t.Error("the lock was replaced")
	}
	entries, err := os.ReadDir(dir + "/.solehold")
	if err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func content(t *testing.T, path, want string) {
	t.Helper()
	if text, err := os.ReadFile(path); err != nil || string(text) != want {
		t.Errorf("%s: %q, %v, want %q", path, text, err, want)
	}
}

// Of many who make the same file one wins, and every reader sees a whole one.
func TestPutNewHasOneWinner(t *testing.T) {
	t.Parallel()
	dir := mkdir(t, place(t)+"/data", -1, 0o750)
	s := state(t, open(t, dir))
	var wins sync.Map
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if s.PutNew("release", []byte(fmt.Sprint(i))) == nil {
				wins.Store(i, true)
			}
		})
	}
	all.Wait()
	n := 0
	wins.Range(func(i, _ any) bool { n++; content(t, dir+"/.solehold/release", fmt.Sprint(i)); return true })
	if n != 1 {
		t.Errorf("%d winners", n)
	}
}

func TestMoveOverNothing(t *testing.T) {
	t.Parallel()
	dir := mkdir(t, place(t)+"/data", -1, 0o750)
	s := state(t, open(t, dir))
	must(t, s.PutNew("a", nil))
	must(t, s.PutNew("b", nil))
	if err := s.Move("a", "b"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another: %v", err)
	}
	must(t, s.Move("a", "c"))
	if err := s.Move("a", "d"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
}
