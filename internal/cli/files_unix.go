//go:build unix

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// enoughFiles checks that a few more files may be opened. Go's runtime ends the
// process with a stack trace when its own descriptors cannot be had.
func enoughFiles() error {
	const need = 12
	var open []int
	defer func() {
		for _, fd := range open {
			unix.Close(fd)
		}
	}()
	for range need {
		fd, err := unix.Dup(2)
		if err == unix.EBADF {
			return nil // stderr is closed: that says nothing about the limit
		}
		if err != nil {
			return fmt.Errorf("%w: %w (%d more were needed)", errFiles, err, need-len(open))
		}
		open = append(open, fd)
	}
	return nil
}

// errnoName is the name that manual pages have for an error, in brackets.
func errnoName(err error) string {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return ""
	}
	return " (" + unix.ErrnoName(errno) + ")"
}

func ownerOf(st fs.FileInfo) string {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf(" of uid %d", sys.Uid)
	}
	return ""
}

// oursOrRoots reports whether a file is of the user who runs this, or of root.
func oursOrRoots(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && (sys.Uid == 0 || int(sys.Uid) == unix.Geteuid())
}
