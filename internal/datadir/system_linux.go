package datadir

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/solehold/solehold/internal/procfs"
	"golang.org/x/sys/unix"
)

func (d *Dir) where() string {
	p, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(d.fd))
	if err != nil || !filepath.IsAbs(p) {
		p, err = filepath.Abs(d.path)
	}
	if err != nil {
		return d.path
	}
	return p
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

// self is the path by which the system leads to an open directory itself.
func self(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func syncData(fd int) error { return unix.Fdatasync(fd) }

// renameNew renames where nothing has the name yet.
func renameNew(dir int, from, to string) error {
	err := unix.Renameat2(dir, from, dir, to, unix.RENAME_NOREPLACE)
	if err == unix.EINVAL { // a file system without that flag
		return renameAsking(dir, from, to)
	}
	return err
}
