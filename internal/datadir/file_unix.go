//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package datadir

import (
	"io"
	"io/fs"

	"golang.org/x/sys/unix"
)

// File is an open file of the state directory: a descriptor that stays open
// until Close, whatever the garbage collector thinks.
type File struct {
	fd   int
	path string
	key  Key
}

// FD returns the descriptor.
func (f File) FD() uintptr { return uintptr(f.fd) }

// Path returns the name that was opened, for messages.
func (f File) Path() string { return f.path }

// Write appends or overwrites at the file's position; a short write is an error.
func (f File) Write(p []byte) (int, error) {
	n, err := retry(func() (int, error) { return unix.Write(f.fd, p) })
	return f.written(n, len(p), err)
}

// ReadAt reads at an offset; it returns io.EOF where the file ends before p is full.
func (f File) ReadAt(p []byte, off int64) (int, error) {
	n, err := retry(func() (int, error) { return unix.Pread(f.fd, p, off) })
	if err == nil && n < len(p) {
		return n, io.EOF
	}
	return max(n, 0), f.error("read", err)
}

// WriteAt writes all of p at an offset; a short write is an error.
func (f File) WriteAt(p []byte, off int64) (int, error) {
	n, err := retry(func() (int, error) { return unix.Pwrite(f.fd, p, off) })
	return f.written(n, len(p), err)
}

func (f File) written(n, want int, err error) (int, error) {
	if err == nil && n < want {
		err = unix.ENOSPC // the only reason for a short write to a regular file
	}
	return max(n, 0), f.error("write", err)
}

// Sync waits until the content is on the disk.
func (f File) Sync() error {
	_, err := retry(func() (int, error) { return 0, syncData(f.fd) })
	return f.error("sync", err)
}

// Size returns the length in bytes.
func (f File) Size() (int64, error) {
	var st unix.Stat_t
	err := unix.Fstat(f.fd, &st)
	return st.Size, f.error("stat", err)
}

// Key returns the identity of the file.
func (f File) Key() Key { return f.key }

// Close closes the descriptor.
func (f File) Close() error { return f.error("close", unix.Close(f.fd)) }

func (f File) error(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.path, Err: err}
}

func keyOf(st *unix.Stat_t) Key { return Key{Dev: uint64(st.Dev), Ino: uint64(st.Ino)} }

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

func openAt(dir int, name string, flags int) (int, error) {
	return retry(func() (int, error) { return unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0o600) })
}
