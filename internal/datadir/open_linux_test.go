package datadir_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// TestSpellings is case C29: every way to write one directory gives one key and
// one canonical path.
func TestSpellings(t *testing.T) {
	t.Parallel()
	base := place(t)
	dir := mkdir(t, filepath.Join(base, "real"), -1, 0o755)
	must(t, os.Symlink("real", filepath.Join(base, "alias")))
	must(t, os.Symlink(filepath.Join(base, "alias"), filepath.Join(base, "far")))
	cwd, err := os.Getwd()
	must(t, err)
	relative, err := filepath.Rel(cwd, dir)
	must(t, err)
	first := open(t, dir)
	for _, path := range []string{
		dir, dir + "/", dir + "//.", base + "/alias", base + "/alias/", base + "/far", base + "/real/../real/",
		relative, "./" + relative, "/proc/self/cwd/" + relative, fmt.Sprintf("/proc/self/fd/%d", first.FD()),
	} {
		d := open(t, path)
		key, err := datadir.KeyOf(path)
		if err != nil || key != first.Key() || d.Key() != first.Key() {
			t.Errorf("%s: key %s and %s, %v; want %s", path, d.Key(), key, err, first.Key())
		}
		if d.Path() != dir || d.Given() != path {
			t.Errorf("%s: path %s, given %s", path, d.Path(), d.Given())
		}
	}
	must(t, os.Mkdir(filepath.Join(base, "other"), 0o755))
	if other := open(t, base+"/other"); other.Key() == first.Key() {
		t.Error("two directories have one key")
	}
}

// The reverse: one relative spelling, two directories.
func TestOneSpellingTwoDirectories(t *testing.T) {
	base := place(t)
	var keys []datadir.Key
	for _, cwd := range []string{"a", "b"} {
		dir := filepath.Join(base, cwd, "data")
		must(t, os.MkdirAll(dir, 0o755))
		t.Chdir(filepath.Dir(dir))
		d := open(t, "./data")
		if d.Path() != dir {
			t.Errorf("path %s, want %s", d.Path(), dir)
		}
		keys = append(keys, d.Key())
	}
	if keys[0] == keys[1] {
		t.Error("two directories have one key")
	}
	if _, err := datadir.Open("~"); err == nil {
		t.Error("a tilde was opened")
	}
}

func TestBindMount(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	if !inside(t, ownMounts()) {
		return
	}
	base := place(t)
	real := mkdir(t, base+"/real", -1, 0o755)
	bind := mkdir(t, base+"/bind", -1, 0o755)
	must(t, unix.Mount(real, bind, "", unix.MS_BIND, ""))
	defer unix.Unmount(bind, unix.MNT_DETACH)
	a, b := open(t, real), open(t, bind)
	if a.Key() != b.Key() || b.Path() != bind {
		t.Errorf("keys %s and %s, path %s", a.Key(), b.Key(), b.Path())
	}
	f := lock(t, state(t, a))
	must(t, state(t, b).SameLock(f))
}

func TestMovedAndGone(t *testing.T) {
	t.Parallel()
	base := place(t)
	dir := mkdir(t, base+"/a", -1, 0o755)
	d := open(t, dir)
	must(t, os.Rename(dir, base+"/b"))
	if d.Gone() || d.Path() != base+"/b" || d.Given() != dir {
		t.Errorf("gone %v, path %s, given %s", d.Gone(), d.Path(), d.Given())
	}
	_, err := datadir.KeyOf(dir)
	failed(t, err, unix.ENOENT, dir)
	must(t, os.Remove(base+"/b"))
	if !d.Gone() {
		t.Error("a removed directory counts as there")
	}
	_, err = d.OpenState(true)
	failed(t, err, unix.ENOENT, dir+"/.solehold")
}

// TestOpenErrors is case C41: the errno is kept, and the path.
func TestOpenErrors(t *testing.T) {
	t.Parallel()
	base := place(t)
	write(t, base+"/file", "", 0o600)
	must(t, os.Symlink("loop", base+"/loop"))
	must(t, os.Symlink("nothing", base+"/dangling"))
	for path, errno := range map[string]error{
		base + "/missing": unix.ENOENT, base + "/missing/data": unix.ENOENT, base + "/dangling": unix.ENOENT,
		base + "/file": unix.ENOTDIR, base + "/file/data": unix.ENOTDIR, base + "/loop": unix.ELOOP,
		base + "/" + strings.Repeat("x", 256): unix.ENAMETOOLONG, strings.Repeat("x/", 3000): unix.ENAMETOOLONG,
	} {
		_, err := datadir.Open(path)
		failed(t, err, errno, path)
	}
	_, err := datadir.Open(base + "/missing")
	failed(t, err, fs.ErrNotExist, base+"/missing")
	_, err = datadir.Open("")
	refused(t, err, `""`)
}

func TestNotPermitted(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 && !inside(t, user(65534)) {
		return
	}
	base := place(t)
	dir := mkdir(t, base+"/closed", -1, 0)
	defer os.Chmod(dir, 0o700)
	_, err := datadir.Open(dir)
	failed(t, err, unix.EACCES, dir)
	failed(t, err, fs.ErrPermission, dir)
	_, err = datadir.Open(dir + "/data")
	failed(t, err, fs.ErrPermission, dir+"/data")
	failed(t, datadir.Create(dir+"/data"), fs.ErrPermission, dir+"/data")

	d := open(t, mkdir(t, base+"/readonly", -1, 0o500))
	_, err = d.OpenState(true)
	failed(t, err, fs.ErrPermission, base+"/readonly/.solehold")
	_, err = d.OpenState(false)
	failed(t, err, fs.ErrNotExist, base+"/readonly/.solehold")

	s := state(t, open(t, mkdir(t, base+"/data", -1, 0o700)))
	for name, mode := range map[string]fs.FileMode{"lock": 0o400, "history.jsonl": 0} {
		write(t, filepath.Join(s.Path(), name), "", mode)
	}
	_, err = s.OpenLock(true)
	failed(t, err, fs.ErrPermission, s.Path()+"/lock")
	_, err = s.OpenAppend("history.jsonl")
	failed(t, err, fs.ErrPermission, s.Path()+"/history.jsonl")
	file(t)(s.OpenRead("lock")) // reading it is enough to ask who holds it
	must(t, os.Chmod(s.Path(), 0o500))
	_, err = s.OpenWrite("refusals")
	failed(t, err, fs.ErrPermission, s.Path()+"/refusals")
	must(t, os.Chmod(s.Path(), 0))
	_, err = d.OpenState(false)
	failed(t, err, fs.ErrNotExist, base+"/readonly/.solehold")
	_, err = open(t, base+"/data").OpenState(true)
	failed(t, err, fs.ErrPermission, s.Path())
	must(t, os.Chmod(s.Path(), 0o700))
}

func TestCreate(t *testing.T) {
	t.Parallel()
	if !inside(t, nil) {
		return
	}
	base := place(t)
	for _, umask := range []int{0, 0o022, 0o077} {
		unix.Umask(umask)
		dir := fmt.Sprintf("%s/%03o", base, umask)
		must(t, datadir.Create(dir))
		if mode := stat(t, dir).Mode & 0o7777; mode != 0o700 {
			t.Errorf("umask %o makes mode %o", umask, mode)
		}
	}
	there := mkdir(t, base+"/there", -1, 0o751)
	write(t, there+"/x", "x", 0o600)
	before := stat(t, there)
	must(t, datadir.Create(there))
	if after := stat(t, there); after.Mode != before.Mode || after.Ctim != before.Ctim {
		t.Error("an existing directory was changed")
	}
	must(t, datadir.Create(there+"/x")) // a file: that is for Open to say
	_, err := datadir.Open(there + "/x")
	failed(t, err, unix.ENOTDIR, there+"/x")
	failed(t, datadir.Create(base+"/no/data"), fs.ErrNotExist, base+"/no/data")
	refused(t, datadir.Create("~/data"), "~/data")
	if _, err := os.Lstat("~"); err == nil {
		t.Error("a directory named ~ was made")
	}
}

func TestNoDescriptorsLeft(t *testing.T) {
	t.Parallel()
	if !inside(t, nil) {
		return
	}
	s, dir := fresh(t)
	d := open(t, dir)
	var before unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: before.Max}))
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &before)
	_, err := datadir.Open(dir)
	failed(t, err, unix.EMFILE, dir)
	_, err = d.OpenState(true)
	failed(t, err, unix.EMFILE, s.Path())
	_, err = d.OpenStateAt(dir)
	failed(t, err, unix.EMFILE, dir)
	_, err = s.OpenLock(true)
	failed(t, err, unix.EMFILE, s.Path()+"/lock")
}

// A read-only file system: what is there can still be asked.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	if !inside(t, ownMounts()) {
		return
	}
	base := place(t)
	must(t, unix.Mount("tmpfs", base, "tmpfs", 0, "size=1m"))
	defer unix.Unmount(base, unix.MNT_DETACH)
	used, unused := mkdir(t, base+"/used", -1, 0o755), mkdir(t, base+"/unused", -1, 0o755)
	lock(t, state(t, open(t, used))).Close()
	must(t, unix.Mount("", base, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))

	d := open(t, unused)
	_, err := d.OpenState(false)
	failed(t, err, fs.ErrNotExist, unused+"/.solehold")
	_, err = d.OpenState(true)
	failed(t, err, unix.EROFS, unused+"/.solehold")
	failed(t, datadir.Create(base+"/new"), unix.EROFS, base+"/new")

	s := state(t, open(t, used))
	_, err = s.OpenLock(true)
	failed(t, err, unix.EROFS, used+"/.solehold/lock")
	_, err = s.OpenAppend("history.jsonl")
	failed(t, err, unix.EROFS, used+"/.solehold/history.jsonl")
	must(t, s.SameLock(file(t)(s.OpenRead("lock"))))
}

func TestWorldWritable(t *testing.T) {
	t.Parallel()
	base := place(t)
	for mode, good := range map[fs.FileMode]bool{
		0o700: true, 0o755: true, 0o775: true, 0o770 | fs.ModeSetgid: true, 0o777: false, 0o777 | fs.ModeSticky: false, 0o702: false,
	} {
		dir := mkdir(t, fmt.Sprintf("%s/%o", base, mode), -1, mode)
		err := open(t, dir).Check()
		if good && err != nil {
			t.Errorf("%v: %v", mode, err)
		}
		if !good {
			refused(t, err, dir, "every user may write here", "chmod o-w")
		}
	}
}
