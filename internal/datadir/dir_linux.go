package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/solehold/solehold/internal/procfs"
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

// Path returns where the directory is now, free of symlinks, or the path as it
// was given where the kernel does not say.
func (d *Dir) Path() string {
	p, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(d.fd))
	if err != nil || !filepath.IsAbs(p) {
		p, err = filepath.Abs(d.path)
	}
	if err != nil {
		return d.path
	}
	return p
}

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

// FilesystemClass returns the class of the file system by one system call.
func (d *Dir) FilesystemClass() (Class, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(d.fd, &st); err != nil {
		return Unknown, &fs.PathError{Op: "statfs", Path: d.path, Err: err}
	}
	return kindOf(uint32(st.Type)).class, nil
}

// Filesystem describes the file system with its mount. Where the mount table
// cannot be read it says what statfs tells.
func (d *Dir) Filesystem(proc procfs.FS) Filesystem {
	if m, ok := d.mount(proc); ok {
		return Judge(m)
	}
	var st unix.Statfs_t
	if unix.Fstatfs(d.fd, &st) != nil {
		return Judge(procfs.Mount{})
	}
	return Judge(procfs.Mount{Type: kindOf(uint32(st.Type)).name})
}

func (d *Dir) mount(proc procfs.FS) (procfs.Mount, bool) {
	var st unix.Statx_t
	if unix.Statx(d.fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st) != nil || st.Mask&unix.STATX_MNT_ID == 0 {
		return procfs.Mount{}, false
	}
	mounts, err := proc.Mounts(0)
	if err != nil {
		return procfs.Mount{}, false
	}
	for _, m := range mounts {
		if uint64(m.ID) == st.Mnt_id {
			return m, true
		}
	}
	return procfs.Mount{}, false
}

// Create makes a missing data directory with mode 0700, its parents as far as
// they exist. An existing directory is left as it is.
func Create(path string) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil // Open says what is wrong with it, if anything is
	}
	return err
}
