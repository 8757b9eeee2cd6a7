package floor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	owner    = 1 << 62 // the locked byte
	slotSize = 4096
	maxTail  = 1 << 19 // bytes of history after which Tidy empties it
)

// Floor works on one directory that solehold has held before.
type Floor struct {
	// Sync waits for the disk after the record.
	Sync bool

	dir   string
	slot  []byte
	line  []byte
	read  []byte
	attr  []byte
	last  [1]byte
	turns int64
	files files
}

// files are the descriptors of one cycle.
type files struct{ dir, state, lock, history int }

// New prepares the cycle on dir.
func New(dir string) *Floor {
	return &Floor{
		dir: dir, slot: append(bytes.Repeat([]byte("x"), slotSize-1), '\n'), line: []byte(strings.Repeat("x", 195) + "\n"),
		read: make([]byte, 2*slotSize), attr: make([]byte, slotSize),
	}
}

// The calls below were found by
//
//	go run . -check
//
// which runs strace(1) over a loop of Acquire and Release, over a loop of Cycle,
// and over the same of refused tries, and prints where they differ. The test
// TestFloorHasTheSameCalls does the same. When one of them reports a difference,
// change the calls here, not the comparison.

// Cycle is an uncontended Acquire and Release.
func (f *Floor) Cycle() error {
	err := f.open()
	if err == nil {
		err = f.take()
	}
	if err == nil {
		err = f.write()
	}
	if err == nil {
		err = f.release()
	}
	return err
}

// Refused is an Acquire that finds the directory held by another process.
func (f *Floor) Refused() error {
	if err := f.open(); err != nil {
		return err
	}
	if err := f.control(f.files.lock, unix.F_OFD_SETLK, unix.F_WRLCK); err != unix.EAGAIN {
		return fmt.Errorf("the directory is not held: %v", err)
	}
	_, err := unix.Pread(f.files.lock, f.read, 0)
	var link [128]byte
	_, linkErr := unix.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.files.dir), link[:])
	return errors.Join(err, linkErr, f.close())
}

// Query asks for the mark on the directory and leaves it as it is: what a reader
// does to learn whether there is an owner.
func (f *Floor) Query() (err error) {
	if f.files.dir, err = unix.Open(f.dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	return errors.Join(f.Ask(f.files.dir), unix.Close(f.files.dir))
}

// Ask asks for the mark by one system call.
func (f *Floor) Ask(dir int) error { return f.control(dir, unix.F_OFD_GETLK, unix.F_WRLCK) }

// open opens what a starter opens, with its checks on the way.
func (f *Floor) open() (err error) {
	const directory = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	var st unix.Stat_t
	var fs unix.Statfs_t
	n := &f.files
	if n.dir, err = unix.Openat(unix.AT_FDCWD, f.dir, directory, 0o600); err != nil {
		return err
	}
	if err = errors.Join(unix.Fstat(n.dir, &st), unix.Fstatfs(n.dir, &fs)); err != nil {
		return err
	}
	unix.Fgetxattr(n.dir, "user.solehold.state", f.attr) // ENODATA
	if n.state, err = unix.Openat(n.dir, ".solehold", directory|unix.O_NOFOLLOW, 0o600); err != nil {
		return err
	}
	if err = unix.Fstat(n.state, &st); err != nil {
		return err
	}
	if n.lock, err = unix.Openat(n.state, "lock", unix.O_RDWR|safe, 0o600); err != nil {
		return err
	}
	return unix.Fstat(n.lock, &st)
}

const safe = unix.O_NOFOLLOW | unix.O_NOCTTY | unix.O_NONBLOCK | unix.O_CLOEXEC

// take locks, marks and verifies.
func (f *Floor) take() error {
	var st unix.Stat_t
	return errors.Join(
		f.control(f.files.lock, unix.F_OFD_SETLK, unix.F_WRLCK),
		f.control(f.files.dir, unix.F_OFD_SETLK, unix.F_RDLCK),
		f.control(f.files.dir, unix.F_OFD_GETLK, unix.F_WRLCK),
		unix.Fstatat(f.files.dir, ".solehold/lock", &st, unix.AT_SYMLINK_NOFOLLOW),
	)
}

// write writes the record and the first event.
func (f *Floor) write() error {
	if _, err := unix.Pread(f.files.lock, f.read, 0); err != nil {
		return err
	}
	f.boottime()
	if err := f.record(); err != nil {
		return err
	}
	if f.Sync {
		if err := unix.Fdatasync(f.files.lock); err != nil {
			return err
		}
	}
	var err error
	var st unix.Stat_t
	n := &f.files
	if n.history, err = unix.Openat(n.state, "history.jsonl", unix.O_RDWR|unix.O_APPEND|safe, 0o600); err != nil {
		return err
	}
	err = errors.Join(unix.Fstat(n.history, &st), unix.Fstat(n.history, &st))
	if st.Size > 0 {
		_, readErr := unix.Pread(n.history, f.last[:], st.Size-1)
		err = errors.Join(err, readErr)
	}
	return errors.Join(err, f.event())
}

// release writes that the directory is given back, and gives it back.
func (f *Floor) release() error {
	return errors.Join(
		f.record(), f.event(), unix.Close(f.files.history),
		f.control(f.files.dir, unix.F_OFD_SETLK, unix.F_UNLCK), f.control(f.files.lock, unix.F_OFD_SETLK, unix.F_UNLCK),
		f.close(),
	)
}

func (f *Floor) close() error {
	return errors.Join(unix.Close(f.files.lock), unix.Close(f.files.state), unix.Close(f.files.dir))
}

// record writes the slot that is not the newest.
func (f *Floor) record() error {
	f.turns++
	_, err := unix.Pwrite(f.files.lock, f.slot, f.turns%2*slotSize)
	return err
}

func (f *Floor) event() error {
	f.boottime()
	_, err := unix.Write(f.files.history, f.line)
	return err
}

func (f *Floor) boottime() {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
}

func (f *Floor) control(fd, cmd int, kind int16) error {
	return unix.FcntlFlock(uintptr(fd), cmd, &unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: owner, Len: 1})
}

// Tidy empties the history when it has grown long: solehold rotates its own. Call
// it between measurements.
func (f *Floor) Tidy() error {
	path := f.dir + "/.solehold/history.jsonl"
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil || st.Size < maxTail {
		return err
	}
	return unix.Truncate(path, 0)
}
