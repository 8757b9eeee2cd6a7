package procfs_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/solehold/solehold/internal/procfs"
)

// changing is a /proc whose list of locks is another one at each reading.
type changing struct {
	fstest.MapFS
	texts *[]string
}

func (c changing) Open(name string) (fs.File, error) {
	if name != "locks" {
		return c.MapFS.Open(name)
	}
	if len(*c.texts) == 0 {
		return nil, fs.ErrInvalid
	}
	text := (*c.texts)[0]
	*c.texts = (*c.texts)[1:]
	return fstest.MapFS{"locks": {Data: []byte(text)}}.Open("locks")
}

// Readings are joined by what a lock is, not by its number in the list.
func TestSampleLocks(t *testing.T) {
	t.Parallel()
	texts := []string{
		"1: FLOCK  ADVISORY  WRITE 10 08:02:100 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 11 08:02:100 0 EOF\n2: POSIX  ADVISORY  READ 12 08:02:200 0 9\n",
		"1: POSIX  ADVISORY  READ 12 08:02:200 0 9\n2: POSIX  ADVISORY  READ 12 08:02:200 0 9\n3: FLOCK  ADVISORY  WRITE 10 08:02:100 0 EOF\n3: -> FLOCK  ADVISORY  WRITE 13 08:02:100 0 EOF\n",
	}
	rows, err := procfs.New(changing{texts: &texts}).SampleLocks(2)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%+v, %v", rows, err)
	}
	a, b := rows[0], rows[1]
	if a.Lock.PID != 10 || a.Seen != 2 || len(a.Waiters) != 2 || a.Waiters[0].Lock.PID != 11 || a.Waiters[0].Seen != 1 {
		t.Errorf("%+v", a)
	}
	if b.Lock.PID != 12 || b.Seen != 2 || len(b.Waiters) != 0 {
		t.Errorf("%+v", b)
	}
	if _, err := procfs.New(changing{texts: &texts}).SampleLocks(1); err == nil {
		t.Error("no error where the list cannot be read")
	}
}

// Devices are packed as stat does, on both sides.
func TestDevices(t *testing.T) {
	t.Parallel()
	l := procfs.Lock{Major: 0xfe, Minor: 0x12345, Inode: 7}
	want := uint64(0xfe<<8 | 0x45 | 0x123<<20)
	if l.FileID() != (procfs.FileID{Dev: want, Ino: 7}) {
		t.Errorf("%+v, want %x", l.FileID(), want)
	}
	if m := (procfs.Mount{Major: 0x1fe, Minor: 3}); m.Device() != 0x1fe<<8|3 {
		t.Errorf("%x", m.Device())
	}
}

// Without the cheap way descriptors are listed by the files of /proc alone.
func TestDescriptorsOfAnyFS(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{
		"7/fd/0":     {},
		"7/fd/3":     {Mode: fs.ModeDir},
		"7/fd/4":     {Mode: fs.ModeNamedPipe},
		"7/fdinfo/0": {Data: []byte("pos:\t0\nflags:\t0100002\n")},
	}
	got, err := procfs.New(fsys).Descriptors(7, nil)
	if err != nil || len(got) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got[0].Type != procfs.Regular || got[1].Type != procfs.Directory || got[2].Type != procfs.Other {
		t.Errorf("%+v", got)
	}
	if writable, err := procfs.New(fsys).Writable(7, 0); err != nil || !writable {
		t.Errorf("%v, %v", writable, err)
	}
	if _, err := procfs.New(fsys).Descriptors(8, nil); err == nil {
		t.Error("no error for a process that is not there")
	}
}

func TestRemovedMappings(t *testing.T) {
	t.Parallel()
	const text = `55d0-55d1 r-xp 00000000 fe:00 111                        /usr/bin/cat
7f00-7f01 rw-s 00000000 fe:00 222                        /srv/a b (deleted)
7f01-7f02 r--s 00001000 fe:00 222                        /srv/a b (deleted)
7f02-7f03 rw-p 00000000 00:00 0
7f03-7f04 rw-s 00000000 00:01 333                        /memfd:x (deleted)
broken (deleted)
`
	got, buf, err := procfs.New(fstest.MapFS{"7/maps": {Data: []byte(text)}}).RemovedMappings(7, make([]byte, 0, 16))
	if err != nil || len(got) != 2 || len(buf) != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if m := got[0]; m.Path != "/srv/a b" || m.Ino != 222 || m.Dev != 0xfe00 || m.Range != "7f00-7f01" {
		t.Errorf("%+v", m)
	}
	if got[1].Path != "/memfd:x" {
		t.Errorf("%+v", got[1])
	}
}

func TestWatches(t *testing.T) {
	t.Parallel()
	const text = "pos:\t0\nflags:\t02000000\nmnt_id:\t16\ninotify wd:3 ino:9e7e sdev:800013 mask:800afce ignored_mask:0\ninotify wd:1 ino:a1 sdev:fe00001 mask:1\n"
	got, err := procfs.New(fstest.MapFS{"7/fdinfo/5": {Data: []byte(text)}, "7/fdinfo/6": {Data: []byte("inotify wd:1 ino:zz sdev:1\n")}}).Watches(7, 5)
	if err != nil || len(got) != 2 || got[0].Ino != 0x9e7e || got[0].Dev != 0x813 || got[1].Dev != 0xfe01 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := procfs.New(fstest.MapFS{"7/fdinfo/6": {Data: []byte("inotify wd:1 ino:zz sdev:1\n")}}).Watches(7, 6); err == nil {
		t.Error("a broken number is no error")
	}
}
