//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && solehold_portable)

package supervise

import (
	"os"

	"golang.org/x/sys/unix"
)

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil
}
