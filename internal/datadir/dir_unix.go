//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package datadir

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// Dir is an open data directory.
type Dir struct {
	fd   int
	path string
	stat unix.Stat_t
}

// Open opens the data directory at path; symlinks that lead to it are followed.
// The error is a *RefusedError or wraps the errno.
func Open(path string) (*Dir, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	fd, err := openAt(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	d := &Dir{fd: fd, path: path}
	if err := unix.Fstat(fd, &d.stat); err != nil {
		unix.Close(fd)
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return d, nil
}

// KeyOf returns the identity of the directory that path leads to now, by one
// system call.
func KeyOf(path string) (Key, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return Key{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return keyOf(&st), nil
}

// Close closes the directory.
func (d *Dir) Close() error { return unix.Close(d.fd) }

// FD returns the directory's descriptor, which carries the mark.
func (d *Dir) FD() uintptr { return uintptr(d.fd) }

// Key returns the directory's identity.
func (d *Dir) Key() Key { return keyOf(&d.stat) }

// UID returns the owner of the directory.
func (d *Dir) UID() int { return int(d.stat.Uid) }

// Given returns the path as it was opened.
func (d *Dir) Given() string { return d.path }

// Gone reports whether the directory was removed, so that no path leads to it.
func (d *Dir) Gone() bool {
	var st unix.Stat_t
	return unix.Fstat(d.fd, &st) == nil && st.Nlink == 0
}

// Check refuses a directory in which anybody could plant or replace files.
func (d *Dir) Check() error {
	if d.stat.Mode&0o002 != 0 {
		return &RefusedError{Path: d.path, Why: "every user may write here, so no lock in it can be trusted; take away that right (chmod o-w)"}
	}
	return nil
}

// Path returns where the directory is now, free of symlinks, or the path as it
// was given where the kernel does not say.
func (d *Dir) Path() string { return d.where() }
