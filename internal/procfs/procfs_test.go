package procfs_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/solehold/solehold/internal/procfs"
)

// files makes a /proc of these files; a content that begins with "@" makes a link to the rest.
func files(contents map[string]string) fstest.MapFS {
	tree := fstest.MapFS{}
	for name, content := range contents {
		file := &fstest.MapFile{Data: []byte(content)}
		if target, isLink := strings.CutPrefix(content, "@"); isLink {
			file = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
		}
		tree[name] = file
	}
	return tree
}

// one makes a /proc of one file, whatever its content.
func one(name, content string) procfs.FS {
	return procfs.New(fstest.MapFS{name: {Data: []byte(content)}})
}

// tree is the checked-in sample: pid 1, a server 412 that holds locks taken by a dead 300, its zombie child 977.
func tree() fs.FS { return os.DirFS("testdata/proc") }

// faulty fails to open or to read the named files, as the kernel does for rights or for a process that ended.
type faulty struct {
	fs.FS
	open, read map[string]error
}

func (f faulty) Open(name string) (fs.File, error) {
	if err := f.open[name]; err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	file, err := f.FS.Open(name)
	if cause := f.read[name]; err == nil && cause != nil {
		return unreadable{File: file, err: cause}, nil
	}
	return file, err
}

func (f faulty) ReadLink(name string) (string, error) {
	if err := f.open[name]; err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return fs.ReadLink(f.FS, name)
}

func (f faulty) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(f.FS, name) }

type unreadable struct {
	fs.File
	err error
}

func (u unreadable) Read([]byte) (int, error) { return 0, u.err }

// endless is a file without an end.
type endless struct{}

func (endless) Open(string) (fs.File, error) { return endless{}, nil }
func (endless) Stat() (fs.FileInfo, error)   { return nil, fs.ErrInvalid }
func (endless) Close() error                 { return nil }
func (endless) Read(b []byte) (int, error)   { return copy(b, strings.Repeat("1", len(b))), nil }

// dribble gives one byte per read, which a reader must not take for the end.
type dribble struct{ fs.FS }

func (d dribble) Open(name string) (fs.File, error) {
	file, err := d.FS.Open(name)
	return oneByte{file}, err
}

type oneByte struct{ fs.File }

func (o oneByte) Read(b []byte) (int, error) { return o.File.Read(b[:min(1, len(b))]) }

func check[T any](t *testing.T, got T, err error, want T) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// refused checks that the error names the file and holds the text.
func refused(t *testing.T, err error, file, text string) {
	t.Helper()
	parse, ok := errors.AsType[*procfs.ParseError](err)
	if !ok {
		t.Fatalf("got %v, want a *ParseError", err)
	}
	if parse.File != file || !strings.Contains(parse.Text, text) || parse.Err == nil {
		t.Errorf("got File %q, Text %q, Err %v; want file %q and text %q", parse.File, parse.Text, parse.Err, file, text)
	}
	if !strings.Contains(err.Error(), file) {
		t.Errorf("%q does not name %s", err, file)
	}
}

func TestPids(t *testing.T) {
	proc := procfs.New(files(map[string]string{
		"1/stat": "", "10/stat": "", "9/stat": "", "self": "@9", "acpi/x": "", "sys/x": "",
		"+7/stat": "", "99999999999999999999/stat": "", "locks": "",
	}))
	pids, err := proc.Pids()
	check(t, pids, err, []int{1, 9, 10})
}

func TestPidsUnreadable(t *testing.T) {
	_, err := procfs.New(faulty{FS: tree(), open: map[string]error{".": fs.ErrPermission}}).Pids()
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want permission denied", err)
	}
}

func TestPidZeroIsSelf(t *testing.T) {
	contents := map[string]string{"self": "@412"}
	sample, err := fs.Glob(tree(), "412/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sample {
		if data, err := fs.ReadFile(tree(), name); err == nil {
			contents[name] = string(data)
		}
	}
	proc := procfs.New(files(contents))
	stat, err := proc.Stat(0)
	check(t, stat.PID, err, 412)
	status, err := proc.Status(0)
	check(t, status.Tgid, err, 412)
	mounts, err := proc.Mounts(0)
	check(t, len(mounts), err, 2)
}

func TestAbsentProcess(t *testing.T) {
	proc := procfs.New(tree())
	for name, read := range map[string]func(pid int) error{
		"stat":     func(pid int) error { _, err := proc.Stat(pid); return err },
		"status":   func(pid int) error { _, err := proc.Status(pid); return err },
		"cmdline":  func(pid int) error { _, err := proc.Cmdline(pid); return err },
		"exe":      func(pid int) error { _, err := proc.Exe(pid); return err },
		"cwd":      func(pid int) error { _, err := proc.Cwd(pid); return err },
		"ns":       func(pid int) error { _, err := proc.Namespace(pid, "pid"); return err },
		"cgroup":   func(pid int) error { _, err := proc.Cgroups(pid); return err },
		"fd":       func(pid int) error { _, err := proc.FDs(pid); return err },
		"target":   func(pid int) error { _, err := proc.FDTarget(pid, 0); return err },
		"fdinfo":   func(pid int) error { _, err := proc.FDInfo(pid, 0); return err },
		"mounts":   func(pid int) error { _, err := proc.Mounts(pid); return err },
		"threads":  func(pid int) error { _, err := proc.Threads(pid); return err },
		"children": func(pid int) error { _, err := proc.Children(pid); return err },
		"wchan":    func(pid int) error { _, err := proc.Wchan(pid); return err },
	} {
		for _, pid := range []int{413, -1} {
			if err := read(pid); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s of %d: %v, want fs.ErrNotExist", name, pid, err)
			}
		}
	}
}

func TestEndlessFileIsRefused(t *testing.T) {
	proc := procfs.New(endless{})
	_, err := proc.Stat(1)
	refused(t, err, "1/stat", "")
	if !errors.Is(err, procfs.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	if _, err := proc.Locks(); !errors.Is(err, procfs.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
}

func TestShortReadsAreNotTheEnd(t *testing.T) {
	want, err := procfs.New(tree()).Locks()
	if err != nil {
		t.Fatal(err)
	}
	got, err := procfs.New(dribble{tree()}).Locks()
	check(t, got, err, want)
}

func TestReadErrorIsReturned(t *testing.T) {
	proc := procfs.New(faulty{FS: tree(), read: map[string]error{"locks": io.ErrUnexpectedEOF}})
	if _, err := proc.Locks(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want the error of the read", err)
	}
}

func TestParseErrorIsShort(t *testing.T) {
	_, err := one("1/stat", "1 (x) "+strings.Repeat("y", 5000)).Stat(1)
	refused(t, err, "1/stat", "yyy")
	if n := len(err.Error()); n > 400 {
		t.Errorf("%d bytes of error", n)
	}
}

// TestSampleTree has the sample read by everything at once, as a check of the names of files.
func TestSampleTree(t *testing.T) {
	proc := procfs.New(tree())
	pids, err := proc.Pids()
	check(t, pids, err, []int{1, 412, 977})
	id, err := proc.BootID()
	check(t, id, err, "3f1c2b9e-6c1d-4a53-9a0e-0d9b6a8f7c11")
	groups, err := proc.Cgroups(412)
	check(t, len(groups), err, 4)
	info, err := proc.FDInfo(412, 3)
	check(t, len(info.Locks), err, 2)
	locks, err := proc.Locks()
	check(t, len(locks), err, 5)
}
