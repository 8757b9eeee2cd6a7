//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package oslock

import (
	"errors"

	"golang.org/x/sys/unix"
)

// flock locks whole files, so the byte does not matter here and there is no
// seat. Exclusive and shared locks behave as on Linux: owned by the
// description, freed at its last close.
func tryLock(fd uintptr, b Byte, exclusive bool) error {
	if b != Owner {
		return errors.ErrUnsupported
	}
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	err := flock(fd, how|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return ErrHeld
	}
	return err
}

func unlock(fd uintptr, _ Byte) error { return flock(fd, unix.LOCK_UN) }

func held(uintptr, Byte) (bool, error) { return false, errors.ErrUnsupported }

func flock(fd uintptr, how int) error {
	for {
		err := unix.Flock(int(fd), how)
		if err != unix.EINTR {
			return err
		}
	}
}
