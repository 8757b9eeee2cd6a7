package datadir_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

const attr = "user.solehold.state"

// apart is a data directory and a state directory that lies elsewhere.
func apart(t *testing.T, base, name string) (*datadir.Dir, *datadir.State) {
	t.Helper()
	d := open(t, mkdir(t, base+"/"+name, -1, 0o700))
	return d, at(t, d, mkdir(t, base+"/"+name+"-state", -1, 0o700))
}

func at(t *testing.T, d *datadir.Dir, path string) *datadir.State {
	t.Helper()
	s, err := d.OpenStateAt(path)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func remembered(t *testing.T, d *datadir.Dir, want string) {
	t.Helper()
	if got, err := d.PairedState(); err != nil || got != want {
		t.Errorf("the data directory remembers %q, %v; want %q", got, err, want)
	}
}

// withAttributes is a place where directories can have attributes.
func withAttributes(t *testing.T) string {
	t.Helper()
	base := place(t)
	err := unix.Setxattr(base, "user.test", []byte("x"), 0)
	testneed.Feature(t, err == nil, "extended attributes of users", "set TMPDIR to a directory on ext4, xfs or btrfs")
	return base
}

func TestPair(t *testing.T) {
	t.Parallel()
	base := withAttributes(t)
	d, s := apart(t, base, "a")
	remembered(t, d, "")
	must(t, s.Pair(false))
	remembered(t, d, "")
	if _, err := s.OpenRead("pair"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a question wrote something down: %v", err)
	}
	for range 2 {
		must(t, s.Pair(true))
		must(t, s.Pair(false))
		remembered(t, d, s.Path())
	}
	if entries, err := os.ReadDir(base + "/a"); err != nil || len(entries) != 0 {
		t.Errorf("the data directory is not empty: %v, %v", entries, err)
	}

	// The same by another spelling, and after a move of either.
	must(t, os.Symlink("a-state", base+"/alias"))
	must(t, at(t, d, base+"/alias").Pair(true))
	must(t, os.Rename(base+"/a", base+"/moved"))
	remembered(t, open(t, base+"/moved"), s.Path())
	must(t, at(t, open(t, base+"/moved"), s.Path()).Pair(true))
}

func TestPairRefuses(t *testing.T) {
	t.Parallel()
	base := withAttributes(t)
	a, as := apart(t, base, "a")
	b, bs := apart(t, base, "b")
	must(t, as.Pair(true))
	for _, write := range []bool{false, true} {
		// A second state directory for one data directory.
		refused(t, at(t, a, bs.Path()).Pair(write), base+"/a", "its state lies in "+as.Path())
		// The state directory of another data directory.
		refused(t, at(t, b, as.Path()).Pair(write), as.Path(), "the state of another data directory", a.Key().String(), b.Key().String())
	}
	remembered(t, b, "")
	must(t, bs.Pair(true))
	must(t, as.Pair(true))
}

// A data directory that has its state inside gets no second one, whose tokens
// would begin anew.
func TestPairBesideStateInside(t *testing.T) {
	t.Parallel()
	base := withAttributes(t)
	d, away := apart(t, base, "a")
	in := state(t, d)
	must(t, away.Pair(false)) // an empty .solehold is no state yet
	lock(t, in)
	for _, write := range []bool{false, true} {
		refused(t, away.Pair(write), base+"/a", "its own .solehold, not in "+away.Path())
	}
	remembered(t, d, "")
	if _, err := away.OpenRead("pair"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused starter wrote something down: %v", err)
	}
	must(t, at(t, d, in.Path()).Pair(true)) // by its path it is the same one
}

// A copy of a data directory has the attribute of its original, which is none.
func TestPairOfACopy(t *testing.T) {
	t.Parallel()
	base := withAttributes(t)
	a, as := apart(t, base, "a")
	must(t, as.Pair(true))
	text := make([]byte, 4096)
	n, err := unix.Getxattr(base+"/a", attr, text)
	must(t, err)
	b, bs := apart(t, base, "b")
	must(t, unix.Setxattr(base+"/b", attr, text[:n], 0))
	remembered(t, b, "")
	refused(t, at(t, b, as.Path()).Pair(true), as.Path(), "another data directory")
	must(t, bs.Pair(true))
	remembered(t, b, bs.Path())
	remembered(t, a, as.Path())
}

func TestPairDamaged(t *testing.T) {
	t.Parallel()
	base := withAttributes(t)
	d, s := apart(t, base, "a")
	for _, text := range []string{"", "{", "null", `{"path":"state"}`, `{"path":7}`, "\x00"} {
		must(t, unix.Setxattr(base+"/a", attr, []byte(text), 0))
		_, err := d.PairedState()
		refused(t, err, base+"/a", attr, "damaged", "--state")
		refused(t, s.Pair(true), base+"/a", "damaged")
		refused(t, s.Pair(false), base+"/a", "damaged")
	}
	if _, err := s.OpenRead("pair"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a pair was written for a damaged attribute: %v", err)
	}
	must(t, unix.Removexattr(base+"/a", attr))
	for _, text := range []string{"{", "text", "[]"} {
		write(t, s.Path()+"/pair", text, 0o600)
		refused(t, s.Pair(true), s.Path()+"/pair", "damaged")
		refused(t, s.Pair(false), s.Path()+"/pair", "damaged")
		if got, err := os.ReadFile(s.Path() + "/pair"); string(got) != text {
			t.Errorf("it was changed: %q, %v", got, err)
		}
	}
	remembered(t, d, "")
}

// Without attributes, or where they may not be written, the state's side is
// enough to keep another data directory away.
func TestPairWithoutAttributes(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	if !inside(t, ownMounts()) {
		return
	}
	base := place(t)
	must(t, unix.Mount("ramfs", base, "ramfs", 0, ""))
	defer unix.Unmount(base, unix.MNT_DETACH)
	if err := unix.Setxattr(base, "user.test", []byte("x"), 0); err != unix.EOPNOTSUPP {
		t.Fatalf("ramfs has attributes: %v", err)
	}
	a, as := apart(t, base, "a")
	must(t, as.Pair(true))
	must(t, as.Pair(true))
	remembered(t, a, "")
	b, _ := apart(t, base, "b")
	refused(t, at(t, b, as.Path()).Pair(true), as.Path(), "another data directory")
	refused(t, at(t, b, as.Path()).Pair(false), as.Path(), "another data directory")

	readonly := mkdir(t, base+"/c", -1, 0o700)
	must(t, unix.Mount("tmpfs", readonly, "tmpfs", unix.MS_RDONLY, ""))
	defer unix.Unmount(readonly, unix.MNT_DETACH)
	s := at(t, open(t, readonly), mkdir(t, base+"/c-state", -1, 0o700))
	must(t, s.Pair(true))
	must(t, s.Pair(false))
}
