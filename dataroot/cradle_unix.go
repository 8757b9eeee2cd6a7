//go:build unix

package dataroot

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// open reports whether every user may write to a directory.
func open(st fs.FileInfo) bool { return st.Mode().Perm()&0o002 != 0 }

// claim takes a directory in which a root is being made, until the returned file is
// closed or this process ends; it is nil while another process has it. The
// kernel frees it, so a maker that was killed is told from one that is slow.
func claim(root *os.Root) (*os.File, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if err == unix.EWOULDBLOCK {
		return nil, nil
	}
	return nil, os.NewSyscallError("flock", err)
}
