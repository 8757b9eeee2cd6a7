//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package datadir

import (
	"io/fs"
	"path/filepath"
	"strconv"

	"github.com/solehold/solehold/internal/procfs"
	"golang.org/x/sys/unix"
)

func (d *Dir) where() string {
	p, err := filepath.Abs(d.path)
	if err != nil {
		return d.path
	}
	real, err := filepath.EvalSymlinks(p)
	if err != nil || !sameFile(real, d.Key()) {
		return p
	}
	return real
}

// FilesystemClass returns the class of the file system by one system call.
func (d *Dir) FilesystemClass() (Class, error) {
	kind, err := fsType(d.fd)
	if err != nil {
		return Unknown, &fs.PathError{Op: "statfs", Path: d.path, Err: err}
	}
	return ClassOf(kind), nil
}

// Filesystem describes the file system; there is no /proc to read mounts from.
func (d *Dir) Filesystem(procfs.FS) Filesystem {
	kind, _ := fsType(d.fd)
	return Judge(procfs.Mount{Type: kind})
}

// self is the path by which the system leads to an open directory itself. Where
// /dev/fd is nothing of that kind the caller sees that it leads elsewhere.
func self(fd int) string { return "/dev/fd/" + strconv.Itoa(fd) }

func syncData(fd int) error { return unix.Fsync(fd) }
