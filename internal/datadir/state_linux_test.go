package datadir_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

func TestState(t *testing.T) {
	t.Parallel()
	dir := mkdir(t, place(t)+"/data", -1, 0o750)
	d := open(t, dir)
	_, err := d.OpenState(false)
	failed(t, err, fs.ErrNotExist, dir+"/.solehold")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("a question made %v, %v", entries, err)
	}
	s := state(t, d)
	if s.Path() != dir+"/.solehold" || s.FD() == 0 {
		t.Errorf("got %+v", s)
	}
	_, err = s.OpenLock(false)
	failed(t, err, fs.ErrNotExist, dir+"/.solehold/lock")
	f := lock(t, s)
	again, err := d.OpenState(false)
	must(t, err)
	defer again.Close()
	if same := lock(t, again); same.Key() != f.Key() || same.FD() == f.FD() || same.Path() != f.Path() {
		t.Errorf("got %+v and %+v", f, same)
	}
}

// TestModes: state has the data directory's mode, less the world's rights,
// whatever the umask is; files are not executable.
func TestModes(t *testing.T) {
	t.Parallel()
	if !inside(t, nil) {
		return
	}
	base := place(t)
	for _, umask := range []int{0, 0o022, 0o077, 0o177} {
		for _, test := range []struct {
			dir         fs.FileMode
			state, file uint32
		}{
			{0o700, 0o700, 0o600},
			{0o750, 0o750, 0o640},
			{0o755, 0o750, 0o640},
			{0o770, 0o770, 0o660},
			{0o775, 0o770, 0o660},
			{0o711, 0o710, 0o600},
			{0o770 | fs.ModeSetgid | fs.ModeSticky, 0o770, 0o660},
		} {
			unix.Umask(0)
			dir := mkdir(t, fmt.Sprintf("%s/%o-%o", base, umask, test.dir), -1, test.dir)
			unix.Umask(umask)
			s := state(t, open(t, dir))
			if mode := stat(t, s.Path()).Mode & 0o1777; mode != test.state {
				t.Errorf("umask %o, directory %v: state has mode %o, want %o", umask, test.dir, mode, test.state)
			}
			lock(t, s)
			file(t)(s.OpenAppend("history.jsonl"))
			file(t)(s.OpenWrite("refusals"))
			for _, name := range []string{"lock", "history.jsonl", "refusals"} {
				if mode := stat(t, s.Path()+"/"+name).Mode & 0o7777; mode != test.file {
					t.Errorf("umask %o, directory %v: %s has mode %o, want %o", umask, test.dir, name, mode, test.file)
				}
			}
		}
	}
}

// TestOwner is case C39: what root makes belongs to the data directory's owner,
// so that the service itself can start afterwards.
func TestOwner(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	if !inside(t, nil) {
		return
	}
	unix.Umask(0o077)
	for _, test := range []struct{ uid, gid int }{{65534, 65534}, {65534, 0}, {0, 65534}, {0, 0}} {
		dir := mkdir(t, place(t)+"/data", 0, 0o750)
		must(t, os.Chown(dir, test.uid, test.gid))
		must(t, os.Chmod(dir, 0o750))
		d := open(t, dir)
		if d.UID() != test.uid {
			t.Errorf("uid %d, want %d", d.UID(), test.uid)
		}
		s := state(t, d)
		lock(t, s)
		file(t)(s.OpenAppend("history.jsonl"))
		file(t)(s.OpenWrite("refusals"))
		for _, name := range []string{".", "lock", "history.jsonl", "refusals"} {
			if st := stat(t, filepath.Join(s.Path(), name)); int(st.Uid) != test.uid || int(st.Gid) != test.gid {
				t.Errorf("%s belongs to %d:%d, want %d:%d", name, st.Uid, st.Gid, test.uid, test.gid)
			}
		}
		errs := startAs(t, 65534, dir)
		if good := test.uid == 65534; (len(errs) == 0) != good {
			t.Errorf("a directory of %d:%d, as 65534: %v", test.uid, test.gid, errs)
		}
	}
}

// The service starts first, then root, then the service: nobody takes anything away.
func TestServiceThenRoot(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	dir := mkdir(t, place(t)+"/data", 65534, 0o700)
	for _, uid := range []uint32{65534, 0, 65534} {
		if errs := startAs(t, uid, dir); len(errs) != 0 {
			t.Errorf("as %d: %v", uid, errs)
		}
	}
	for _, name := range []string{"", "/lock", "/history.jsonl", "/refusals"} {
		if st := stat(t, dir+"/.solehold"+name); st.Uid != 65534 {
			t.Errorf("%s belongs to %d", name, st.Uid)
		}
	}
}

func TestStrangers(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	for _, test := range []struct {
		name         string
		state, file  int // owners; the data directory's is 65534
		stateRefused bool
		fileRefused  bool
	}{
		{"owner's", 65534, 65534, false, false},
		{"root's", 0, 0, false, false},
		{"stranger's state", 1234, 0, true, false},
		{"stranger's file", 65534, 1234, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := mkdir(t, place(t)+"/data", 65534, 0o770)
			state := mkdir(t, dir+"/.solehold", test.state, 0o770)
			write(t, state+"/lock", "text", 0o660)
			must(t, os.Chown(state+"/lock", test.file, test.file))
			before := stat(t, state+"/lock")
			d := open(t, dir)
			for _, create := range []bool{true, false} {
				s, err := d.OpenState(create)
				if test.stateRefused {
					refused(t, err, state, "belongs to uid 1234", "the data directory to uid 65534")
					continue
				}
				must(t, err)
				defer s.Close()
				f, err := s.OpenLock(create)
				if test.fileRefused {
					refused(t, err, state+"/lock", "belongs to uid 1234")
					continue
				}
				file(t)(f, err)
			}
			if after := stat(t, state+"/lock"); after != before {
				t.Errorf("before: %+v, after: %+v", before, after)
			}
		})
	}
}

// What a member of the data directory's group makes is its own.
func TestMemberOfGroup(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	dir := mkdir(t, place(t)+"/data", 65534, 0o770)
	must(t, os.Chown(dir, 65534, 1234))
	must(t, os.Chmod(dir, 0o770))
	for range 2 {
		if errs := startAs(t, 1234, dir); len(errs) != 0 {
			t.Error(errs)
		}
	}
	if st := stat(t, dir+"/.solehold/lock"); st.Uid != 1234 {
		t.Errorf("the lock belongs to %d", st.Uid)
	}
}

func TestWorldWritableState(t *testing.T) {
	t.Parallel()
	s, dir := fresh(t)
	lock(t, s)
	must(t, os.Chmod(s.Path()+"/lock", 0o666))
	_, err := s.OpenLock(true)
	refused(t, err, s.Path()+"/lock", "every user may write to it", "chmod o-w")
	_, err = s.OpenRead("lock")
	refused(t, err, s.Path()+"/lock")
	must(t, os.Chmod(s.Path(), 0o777))
	_, err = open(t, dir).OpenState(true)
	refused(t, err, s.Path(), "every user may write to it")
	_, err = open(t, dir).OpenStateAt(s.Path())
	refused(t, err, s.Path(), "every user may write to it")
}

func TestStateElsewhere(t *testing.T) {
	t.Parallel()
	base := place(t)
	d := open(t, mkdir(t, base+"/data", -1, 0o700))
	away := mkdir(t, base+"/state", -1, 0o700)
	must(t, os.Symlink("state", base+"/alias"))
	for _, path := range []string{away, base + "/alias", away + "/"} {
		s, err := d.OpenStateAt(path)
		must(t, err)
		defer s.Close()
		if s.Path() != filepath.Clean(path) {
			t.Errorf("got %+v", s)
		}
		f := lock(t, s)
		must(t, s.SameLock(f))
	}
	if entries, err := os.ReadDir(base + "/data"); err != nil || len(entries) != 0 {
		t.Errorf("the data directory has %v, %v", entries, err)
	}
	_, err := d.OpenStateAt(base + "/missing")
	failed(t, err, fs.ErrNotExist, base+"/missing")
	_, err = d.OpenStateAt("~/state")
	refused(t, err, "~/state")
}

func TestSameLock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(lock, state string) error
		want   error
	}{
		{"nothing", func(string, string) error { return nil }, nil},
		{"written", func(lock, _ string) error { return os.WriteFile(lock, []byte("x"), 0o600) }, nil},
		{"removed", func(lock, _ string) error { return os.Remove(lock) }, datadir.ErrMoved},
		{"renamed", func(lock, _ string) error { return os.Rename(lock, lock+"2") }, datadir.ErrMoved},
		{"replaced", func(lock, _ string) error {
			return errors.Join(os.WriteFile(lock+"2", nil, 0o600), os.Rename(lock+"2", lock))
		}, datadir.ErrMoved},
		{"a link in its place", func(lock, _ string) error {
			return errors.Join(os.Rename(lock, lock+"2"), os.Symlink("lock2", lock))
		}, datadir.ErrMoved},
		{"state removed", func(_, state string) error { return os.RemoveAll(state) }, datadir.ErrMoved},
		{"state renamed", func(_, state string) error { return os.Rename(state, state+"2") }, datadir.ErrMoved},
		{"a file in its place", func(_, state string) error {
			return errors.Join(os.Rename(state, state+"2"), os.WriteFile(state, nil, 0o600))
		}, datadir.ErrMoved},
		{"a loop in its place", func(_, state string) error {
			return errors.Join(os.Rename(state, state+"2"), os.Symlink(".solehold", state))
		}, datadir.ErrMoved},
	} {
		for _, away := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s away=%v", test.name, away), func(t *testing.T) {
				s, dir := fresh(t)
				if away {
					var err error
					s, err = open(t, dir).OpenStateAt(s.Path())
					must(t, err)
					defer s.Close()
				}
				f := lock(t, s)
				must(t, test.change(f.Path(), s.Path()))
				if err := s.SameLock(f); err != test.want {
					t.Errorf("got %v, want %v", err, test.want)
				}
			})
		}
	}
}

// The lock file is made once and keeps its content, whoever opens it.
func TestLockIsKept(t *testing.T) {
	t.Parallel()
	s, _ := fresh(t)
	first := lock(t, s)
	_, err := first.WriteAt([]byte("record"), 4096)
	must(t, err)
	before := stat(t, first.Path())
	for _, create := range []bool{true, false} {
		f := file(t)(s.OpenLock(create))
		if f.Key() != first.Key() {
			t.Errorf("key %s, want %s", f.Key(), first.Key())
		}
	}
	file(t)(s.OpenWrite("lock"))
	file(t)(s.OpenAppend("lock"))
	_, err = datadir.OpenNew(s, "lock")
	failed(t, err, fs.ErrExist, first.Path())
	if after := stat(t, first.Path()); after != before {
		t.Errorf("before: %+v, after: %+v", before, after)
	}
}

// Starters that make the file and somebody who removes it, all at once: each
// starter gets a file, and no descriptor stays open.
func TestCreateRace(t *testing.T) {
	t.Parallel()
	if !inside(t, nil) { // alone, to count descriptors
		return
	}
	s, _ := fresh(t)
	before, err := procfs.Default().FDs(0)
	must(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 60 {
				f, err := s.OpenLock(true)
				if errors.Is(err, unix.EAGAIN) {
					continue // eight times removed between two steps
				}
				if err != nil {
					t.Error(err)
					return
				}
				os.Remove(f.Path())
				f.Close()
				if f, err = datadir.OpenNew(s, "other"); err == nil {
					f.Close()
					os.Remove(f.Path())
				} else if !errors.Is(err, fs.ErrExist) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	after, err := procfs.Default().FDs(0)
	must(t, err)
	if len(after) > len(before)+2 { // the runtime's own, for polling
		t.Errorf("%d descriptors before, %d after", len(before), len(after))
	}
}

func TestRenameAndRemove(t *testing.T) {
	t.Parallel()
	s, _ := fresh(t)
	f := lock(t, s)
	write(t, s.Path()+"/history.jsonl", "a", 0o600)
	must(t, s.Rename("history.jsonl", "history.jsonl.1"))
	if text, err := fs.ReadFile(s, "history.jsonl.1"); string(text) != "a" {
		t.Errorf("got %q, %v", text, err)
	}
	failed(t, s.Rename("history.jsonl", "x"), fs.ErrNotExist, s.Path()+"/history.jsonl")
	failed(t, s.Remove("history.jsonl"), fs.ErrNotExist, s.Path()+"/history.jsonl")
	for _, err := range []error{s.Remove("lock"), s.Rename("lock", "x"), s.Rename("history.jsonl.1", "lock")} {
		if !errors.Is(err, unix.EPERM) {
			t.Errorf("the lock was touched: %v", err)
		}
	}
	must(t, s.SameLock(f))
	must(t, s.Remove("history.jsonl.1"))
	var p *fs.PathError
	if err := s.Remove("x"); !errors.As(err, &p) || p.Op != "remove" {
		t.Errorf("got %v", err)
	}
}

func TestReadAsFS(t *testing.T) {
	t.Parallel()
	s, dir := fresh(t)
	write(t, dir+"/secret", "secret", 0o600)
	write(t, s.Path()+"/history.jsonl", "line\n", 0o600)
	if text, err := fs.ReadFile(s, "history.jsonl"); err != nil || string(text) != "line\n" {
		t.Errorf("got %q, %v", text, err)
	}
	for _, name := range []string{"../secret", "/etc/passwd", "", "a/../../secret", "./history.jsonl"} {
		f, err := s.Open(name)
		if f != nil {
			f.Close()
		}
		failed(t, err, fs.ErrInvalid, name)
	}
	_, err := s.Open("missing")
	failed(t, err, fs.ErrNotExist, s.Path()+"/missing")
	_, err = s.Open(".")
	refused(t, err, s.Path(), "a directory")
}
