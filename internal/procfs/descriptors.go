package procfs

import (
	"errors"
	"io/fs"
	"strconv"
)

// FileType is what a descriptor leads to, as far as locks care.
type FileType uint8

// The types. Other is a socket, a pipe, a device or one of the kernel's own; Unseen is a file that would not say.
const (
	Unseen FileType = iota
	Regular
	Directory
	Other
)

// FileID is a file on this host, as stat(2) tells it.
type FileID struct {
	// Dev is the device, in the kernel's encoding for programs.
	Dev uint64
	// Ino is the inode.
	Ino uint64
}

// File is what stat tells of an open file without asking its server: on a file system that does not answer it is what the
// kernel remembers.
type File struct {
	FileID
	// Type is what it is.
	Type FileType
	// Links is how many names lead to it; 0 for a removed one.
	Links uint32
	// Size is its length in bytes.
	Size int64
	// Bytes is the room that it takes on its file system.
	Bytes int64
	// Mount is the one that it was opened in, as [Mount.ID]; 0 before Linux 5.8.
	Mount int
}

// Descriptor is one open descriptor of a process with its file.
type Descriptor struct {
	File
	// FD is its number.
	FD int
}

// describer is a file system that lists descriptors with fewer calls than the general way takes.
type describer interface {
	descriptors(pid int, into []Descriptor) ([]Descriptor, error)
	describe(name string) (File, error)
	writable(name string) (bool, error)
}

// Descriptors appends the process' open descriptors to into. One that was closed meanwhile is left out. Where the process may
// be listed but not looked into, all of them are Unseen: the first refusal is that of all.
func (f FS) Descriptors(pid int, into []Descriptor) ([]Descriptor, error) {
	all, err := f.descriptors(pid, into)
	if len(all) == len(into) {
		if other := f.other(pid); other != pid {
			return f.descriptors(other, into)
		}
	}
	return all, err
}

// other is the thread by which a process is seen whose own files are not: that is the process itself, unless its first
// thread has exited, which has let go of them, and another works on.
func (f FS) other(pid int) int {
	if st, err := f.Stat(pid); err != nil || !st.Exiting || st.Threads <= 1 {
		return pid
	}
	threads, _ := f.Threads(pid)
	for _, thread := range threads {
		if st, err := f.Stat(thread); err == nil && !st.Exiting {
			return thread
		}
	}
	return pid
}

// seen asks by the process, and by another of its threads where that finds nothing.
func seen[T any](f FS, pid int, ask func(pid int) (T, error)) (T, error) {
	got, err := ask(pid)
	if errors.Is(err, fs.ErrNotExist) {
		if other := f.other(pid); other != pid {
			return ask(other)
		}
	}
	return got, err
}

func (f FS) descriptors(pid int, into []Descriptor) ([]Descriptor, error) {
	if fast, ok := f.fsys.(describer); ok {
		return fast.descriptors(pid, into)
	}
	fds, err := f.numbers(dir(pid) + "/fd")
	for _, fd := range fds {
		d := Descriptor{FD: fd}
		if d.File, err = f.describe(fdName(pid, fd)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		into = append(into, d)
	}
	return into, err
}

// File tells about the file of one descriptor.
func (f FS) File(pid, fd int) (File, error) {
	return seen(f, pid, func(pid int) (File, error) { return f.describe(fdName(pid, fd)) })
}

// Writable says whether a descriptor was opened for writing.
func (f FS) Writable(pid, fd int) (bool, error) {
	if fast, ok := f.fsys.(describer); ok {
		return seen(f, pid, func(pid int) (bool, error) { return fast.writable(fdName(pid, fd)) })
	}
	info, err := f.FDInfo(pid, fd)
	return info.Writable(), err
}

func fdName(pid, fd int) string { return dir(pid) + "/fd/" + strconv.Itoa(fd) }

// describe follows a link of /proc to its file.
func (f FS) describe(name string) (File, error) {
	if fast, ok := f.fsys.(describer); ok {
		return fast.describe(name)
	}
	info, err := fs.Stat(f.fsys, name)
	if err != nil {
		return File{}, err
	}
	return File{Type: typeOf(info.Mode()), Size: info.Size(), Links: 1}, nil
}

func typeOf(mode fs.FileMode) FileType {
	switch {
	case mode.IsRegular():
		return Regular
	case mode.IsDir():
		return Directory
	}
	return Other
}

// FileID is the file of a lock as stat tells it, on file systems that give their files the device of the mount. Others (btrfs,
// overlayfs) do not: there only fdinfo connects a lock with a descriptor.
func (l Lock) FileID() FileID { return FileID{Dev: device(l.Major, l.Minor), Ino: l.Inode} }

// Device is the device as stat(2) packs it.
func (m Mount) Device() uint64 { return device(m.Major, m.Minor) }

// device packs as the C library's makedev does.
func device(major, minor uint32) uint64 {
	low, high := uint64(minor), uint64(major)
	return high&0xfff<<8 | high>>12<<44 | low&0xff | low>>8<<20
}
