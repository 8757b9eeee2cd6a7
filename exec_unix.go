//go:build unix

package solehold

import "golang.org/x/sys/unix"

// keepOverExec lets a descriptor survive execve.
func keepOverExec(fd uintptr) error {
	_, err := unix.FcntlInt(fd, unix.F_SETFD, 0)
	return err
}
