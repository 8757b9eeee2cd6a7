package procfs

import (
	"io/fs"
	"strconv"
	"strings"
)

// FDInfo is what /proc/N/fdinfo/M says of a descriptor, as far as it is used here. See proc_pid_fdinfo(5).
type FDInfo struct {
	// Pos is the file offset in bytes.
	Pos int64
	// Flags are those of open(2), in the numbers of this machine's kernel; the access mode is the lowest two bits.
	Flags uint64
	// MountID is the mount the file was opened in, as [Mount.ID]; 0 before Linux 3.15.
	MountID int
	// Inode is the file's, 0 before Linux 5.14.
	Inode uint64
	// Locks are the locks that the descriptor carries: flock and OFD locks under each descriptor that shares the open file
	// description, POSIX locks under the one that took them. None of them is a waiter.
	Locks []Lock
}

// accessMode is O_ACCMODE on all of Linux' architectures.
const accessMode = 3

// Writable says whether the descriptor was opened for writing.
func (i FDInfo) Writable() bool {
	mode := i.Flags & accessMode
	return mode == 1 || mode == 2 // O_WRONLY, O_RDWR
}

// FDs returns the numbers of the open descriptors, ascending; for the own process, the one that lists them is among them.
// It needs the right to inspect the process; on an error it returns what was listed before, mostly nothing.
func (f FS) FDs(pid int) ([]int, error) {
	fds, err := f.numbers(dir(pid) + "/fd")
	if len(fds) == 0 {
		if other := f.other(pid); other != pid {
			return f.numbers(dir(other) + "/fd")
		}
	}
	return fds, err
}

// FDTarget returns what the descriptor is open on, in the kernel's words: a path as the reader's root sees it, with
// " (deleted)" appended if it is unlinked, or the like of "socket:[123]".
func (f FS) FDTarget(pid, fd int) (string, error) {
	return seen(f, pid, func(pid int) (string, error) { return fs.ReadLink(f.fsys, fdName(pid, fd)) })
}

// FDInfo reads /proc/N/fdinfo/M. It needs the right to inspect the process.
func (f FS) FDInfo(pid, fd int) (FDInfo, error) {
	return seen(f, pid, func(pid int) (FDInfo, error) { return load(f, fdinfoName(pid, fd), smallLimit, parseFDInfo) })
}

func fdinfoName(pid, fd int) string {
	return dir(pid) + "/fdinfo/" + strconv.Itoa(fd)
}

// parseFDInfo takes the lines it knows; drivers add their own. Only flags has always been there.
func parseFDInfo(text string) (FDInfo, error) {
	var info FDInfo
	flagged := false
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		if err := info.set(key, strings.TrimSpace(value)); err != nil {
			return FDInfo{}, err
		}
		flagged = flagged || key == "flags"
	}
	if !flagged {
		return FDInfo{}, malformed(text, errNoFlags)
	}
	return info, nil
}

// set takes one line over.
func (i *FDInfo) set(key, value string) error {
	var c columns
	switch key {
	case "pos":
		pos, err := strconv.ParseInt(value, 10, 64)
		c.note(err)
		i.Pos = pos
	case "flags":
		i.Flags = c.uint(value, 8)
	case "mnt_id":
		i.MountID = c.int(value)
	case "ino":
		i.Inode = c.uint(value, 10)
	case "lock":
		lock, err := parseLock(value)
		if err != nil {
			return err
		}
		i.Locks = append(i.Locks, lock)
	}
	return c.in(key + ":" + value)
}
