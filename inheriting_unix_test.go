//go:build unix

package solehold_test

import (
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// inheriting gives the process the descriptors as its 3, 4 and so on.
func inheriting(fds ...uintptr) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		for _, fd := range fds {
			if dup, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3); err == nil {
				cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(dup), "shared"))
			}
		}
	}
}
