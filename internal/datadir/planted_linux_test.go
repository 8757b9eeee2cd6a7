package datadir_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// thing is what somebody puts where a file of solehold's should be.
type thing struct {
	name  string
	plant func(path, victim string) error
	words string // of the refusal
	root  bool   // only root can make it
}

func things() []thing {
	return []thing{
		{"symlink", func(path, victim string) error { return os.Symlink(victim, path) }, "it is a symlink owned by uid", false},
		{"dangling symlink", func(path, victim string) error { return os.Symlink(victim+".new", path) }, "a symlink", false},
		{"symlink to a directory", func(path, victim string) error { return os.Symlink(filepath.Dir(victim), path) }, "a symlink", false},
		{"symlink to itself", func(path, _ string) error { return os.Symlink(filepath.Base(path), path) }, "a symlink", false},
		{"hard link", func(path, victim string) error { return os.Link(victim, path) }, "hard link", false},
		{"fifo", func(path, _ string) error { return unix.Mkfifo(path, 0o600) }, "a fifo", false},
		{"socket", func(path, _ string) error { return unix.Mknod(path, unix.S_IFSOCK|0o600, 0) }, "a socket", false},
		{"directory", func(path, _ string) error { return os.Mkdir(path, 0o700) }, "a directory", false},
		{"device", func(path, _ string) error { return unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) }, "a device", true},
		{"device without a driver", func(path, _ string) error { return unix.Mknod(path, unix.S_IFBLK|0o600, int(unix.Mkdev(240, 0))) }, "a device", true},
	}
}

// opens are all ways to open a file of the state directory.
func opens() map[string]func(s *datadir.State, name string) error {
	closed := func(f datadir.File, err error) error {
		if err == nil {
			f.Close()
		}
		return err
	}
	return map[string]func(s *datadir.State, name string) error{
		"read":   func(s *datadir.State, name string) error { return closed(s.OpenRead(name)) },
		"write":  func(s *datadir.State, name string) error { return closed(s.OpenWrite(name)) },
		"append": func(s *datadir.State, name string) error { return closed(s.OpenAppend(name)) },
		"fs": func(s *datadir.State, name string) error {
			f, err := s.Open(name)
			if err == nil {
				f.Close()
			}
			return err
		},
		"create": func(s *datadir.State, name string) error {
			if name != datadir.LockName {
				return closed(s.OpenWrite(name))
			}
			return closed(s.OpenLock(true))
		},
		"query": func(s *datadir.State, name string) error {
			if name != datadir.LockName {
				return closed(s.OpenRead(name))
			}
			return closed(s.OpenLock(false))
		},
	}
}

// victim makes a file whose content, mode and times nobody may change, in a
// directory where nobody may make another.
func victim(t *testing.T) (path string, unchanged func(what string)) {
	t.Helper()
	dir := t.TempDir()
	path = dir + "/victim"
	write(t, path, "precious", 0o640)
	old := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	must(t, os.Chtimes(path, old, old))
	var before unix.Stat_t
	return path, func(what string) {
		t.Helper()
		now := stat(t, path)
		now.Atim = unix.Timespec{} // this check reads it
		if before.Ino == 0 {
			before = now
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "precious" || now != before {
			t.Errorf("%s: the victim has %q, %v; it was %+v, and is %+v", what, text, err, before, now)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%s: beside the victim there are %v, %v", what, entries, err)
		}
	}
}

// planted runs a test for each thing that this user can make.
func planted(t *testing.T, f func(t *testing.T, x thing)) {
	for _, x := range things() {
		t.Run(x.name, func(t *testing.T) {
			if x.root {
				testneed.Root(t)
			}
			f(t, x)
		})
	}
}

// TestPlantedFile is case C43.
func TestPlantedFile(t *testing.T) {
	t.Parallel()
	planted(t, func(t *testing.T, x thing) {
		s, _ := fresh(t)
		precious, unchanged := victim(t)
		names := []string{"lock", "history.jsonl", "history.jsonl.1", "refusals", "release", "pair"}
		before := map[string]unix.Stat_t{}
		for _, name := range names {
			path := s.Path() + "/" + name
			must(t, x.plant(path, precious))
			if os.Geteuid() == 0 && x.name != "hard link" {
				must(t, os.Lchown(path, 65534, 65534))
			}
		}
		for _, name := range names {
			before[name] = stat(t, s.Path()+"/"+name)
		}
		unchanged("planted")
		for _, name := range names {
			path := s.Path() + "/" + name
			for how, open := range opens() {
				refused(t, open(s, name), path, x.words)
				unchanged(name + " " + how)
			}
			if after := stat(t, path); before[name].Ino != after.Ino || before[name].Mode != after.Mode || before[name].Ctim != after.Ctim {
				t.Errorf("%s was %+v, is %+v", name, before[name], after)
			}
		}
		refused(t, s.Pair(true), s.Path()+"/pair", x.words)
		refused(t, s.Pair(false), s.Path()+"/pair", x.words)
		unchanged("pairing")
		if entries, err := os.ReadDir(s.Path()); err != nil || len(entries) != len(names) {
			t.Errorf("in the state directory there are %v, %v", entries, err)
		}
	})
}

func TestPlantedState(t *testing.T) {
	t.Parallel()
	planted(t, func(t *testing.T, x thing) {
		dir := mkdir(t, place(t)+"/data", -1, 0o750)
		path := dir + "/.solehold"
		precious, unchanged := victim(t)
		must(t, x.plant(path, precious))
		words := x.words
		switch x.name {
		case "directory": // of somebody else's
			testneed.Root(t)
			must(t, os.Chown(path, 65534, 65534))
			words = "it belongs to uid 65534"
		case "hard link":
			words = "it is a file owned by uid"
		}
		unchanged("planted")
		before := stat(t, path)
		d := open(t, dir)
		for _, create := range []bool{true, false} {
			_, err := d.OpenState(create)
			refused(t, err, path, words)
			unchanged(fmt.Sprint("open state ", create))
		}
		if after := stat(t, path); before.Ino != after.Ino || before.Mode != after.Mode || before.Ctim != after.Ctim {
			t.Errorf("it was %+v, is %+v", before, after)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("the data directory has %v, %v", entries, err)
		}
	})
}

// The state directory may be reached by a link that the operator chose, but what
// is in it may not.
func TestPlantedElsewhere(t *testing.T) {
	t.Parallel()
	s, dir := fresh(t)
	precious, unchanged := victim(t)
	must(t, os.Symlink(precious, s.Path()+"/lock"))
	away, err := open(t, dir).OpenStateAt(s.Path())
	must(t, err)
	defer away.Close()
	unchanged("planted")
	_, err = away.OpenLock(true)
	refused(t, err, s.Path()+"/lock", "a symlink")
	unchanged("open")
}

// A fifo that somebody holds open must not be read, nor hang anybody.
func TestFifoWithAReader(t *testing.T) {
	t.Parallel()
	s, _ := fresh(t)
	path := s.Path() + "/history.jsonl"
	must(t, unix.Mkfifo(path, 0o600))
	fifo, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer fifo.Close()
	_, err = fifo.WriteString("x")
	must(t, err)
	for how, open := range opens() {
		if err := open(s, "history.jsonl"); err == nil {
			t.Error(how, "opened it")
		}
	}
	var text [2]byte
	if n, err := fifo.Read(text[:]); n != 1 || text[0] != 'x' {
		t.Errorf("somebody read from it: %d, %v", n, err)
	}
}

// TestNeverCreatesWhatExists: with fs.protected_regular the kernel refuses O_CREAT
// for another user's existing file in a sticky directory. Here a filter refuses
// it for every file.
func TestNeverCreatesWhatExists(t *testing.T) {
	t.Parallel()
	if !inside(t, nil) {
		return
	}
	s, _ := fresh(t)
	lock(t, s)
	names := []string{"history.jsonl", "refusals", "release", "pair"}
	for _, name := range names {
		write(t, s.Path()+"/"+name, "", 0o600)
	}
	refuseCreation(t, int(s.FD()))
	_, err := s.OpenWrite("new")
	if !errors.Is(err, unix.EXDEV) {
		t.Fatalf("the filter does not work: %v", err)
	}
	lock(t, s)
	for _, name := range names {
		for how, open := range opens() {
			if err := open(s, name); err != nil {
				t.Errorf("%s %s: %v", name, how, err)
			}
		}
	}
}

// refuseCreation makes openat with O_CREAT below one descriptor fail, in all
// threads of this process for good.
func refuseCreation(t *testing.T, dir int) {
	t.Helper()
	const load, equal, set, give = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
		unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	// The offsets are those of struct seccomp_data: number, then arguments of 64 bits, the low half first.
	filter := []unix.SockFilter{
		{Code: load, K: 0},
		{Code: equal, K: unix.SYS_OPENAT, Jf: 5},
		{Code: load, K: 16},
		{Code: equal, K: uint32(dir), Jf: 3},
		{Code: load, K: 32},
		{Code: set, K: unix.O_CREAT, Jf: 1},
		{Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EXDEV)},
		{Code: give, K: unix.SECCOMP_RET_ALLOW},
	}
	must(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		t.Fatal("seccomp:", errno)
	}
}

func TestRefusalNamesTheOwner(t *testing.T) {
	t.Parallel()
	s, _ := fresh(t)
	must(t, os.Symlink("x", s.Path()+"/lock"))
	_, err := s.OpenLock(true)
	refused(t, err, s.Path()+"/lock", fmt.Sprintf("owned by uid %d", os.Geteuid()))
	if os.Geteuid() == 0 {
		refused(t, err, s.Path()+"/lock", "uid 0 (root)")
		must(t, os.Lchown(s.Path()+"/lock", 54321, 54321))
		_, err = s.OpenLock(true)
		refused(t, err, s.Path()+"/lock", "owned by uid 54321,")
	}
	if strings.Contains(err.Error(), "held") || strings.Contains(err.Error(), "running") {
		t.Errorf("it sounds held: %v", err)
	}
}
