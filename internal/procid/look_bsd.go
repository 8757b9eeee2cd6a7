//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package procid

import (
	"time"

	"golang.org/x/sys/unix"
)

// session is Windows' word.
func session(int) int { return 0 }

func gone(ID) Why { return NoSuchProcess }

func sinceBoot() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(monotonic, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// exists asks for what every user may know of a process.
func exists(pid int) error {
	_, err := unix.Getpgid(pid)
	switch err {
	case unix.ESRCH:
		return errNoProcess
	case unix.EPERM:
		return nil // OpenBSD, for a process of another session
	}
	return err
}
