//go:build !solehold_portable

package oslock

import (
	"io"

	"golang.org/x/sys/unix"
)

func tryLock(fd uintptr, b Byte, exclusive bool) error {
	kind := int16(unix.F_RDLCK)
	if exclusive {
		kind = unix.F_WRLCK
	}
	err := control(fd, unix.F_OFD_SETLK, request(kind, b))
	// EACCES is the other spelling of would-block that POSIX allows for this call.
	if err == unix.EAGAIN || err == unix.EACCES {
		return ErrHeld
	}
	return err
}

func unlock(fd uintptr, b Byte) error {
	return control(fd, unix.F_OFD_SETLK, request(unix.F_UNLCK, b))
}

func held(fd uintptr, b Byte) (bool, error) {
	// Asking as a writer finds readers and writers; the question needs no
	// write permission, and the asking description never conflicts with itself.
	lk := request(unix.F_WRLCK, b)
	if err := control(fd, unix.F_OFD_GETLK, lk); err != nil {
		return false, err
	}
	return lk.Type != unix.F_UNLCK, nil
}

func request(kind int16, b Byte) *unix.Flock_t {
	return &unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: int64(b), Len: 1}
}

func control(fd uintptr, cmd int, lk *unix.Flock_t) error {
	for {
		err := unix.FcntlFlock(fd, cmd, lk)
		if err != unix.EINTR {
			return err
		}
	}
}
