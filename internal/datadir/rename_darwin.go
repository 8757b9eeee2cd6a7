package datadir

import "golang.org/x/sys/unix"

// renameNew renames where nothing has the name yet.
func renameNew(dir int, from, to string) error {
	err := unix.RenameatxNp(dir, from, dir, to, unix.RENAME_EXCL)
	if err == unix.ENOTSUP || err == unix.EINVAL { // a file system without that flag
		return renameAsking(dir, from, to)
	}
	return err
}
