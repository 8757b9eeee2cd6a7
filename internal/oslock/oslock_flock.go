//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && solehold_portable)

package oslock

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// askers bounds the tries of a starter that meets only those who ask.
const askers = 1000

// flock locks whole files, so the byte does not matter here and there is no
// seat. Exclusive and shared locks behave as on Linux: owned by the
// description, freed at its last close.
func tryLock(fd uintptr, b Byte, exclusive bool) error {
	if b != Owner || !exclusive {
		return errors.ErrUnsupported
	}
	for i := range askers {
		err := flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EWOULDBLOCK {
			return err
		}
		// Who asks has a shared lock for a moment. That is no holder.
		if holder, err := askBy(fd); holder || err != nil {
			return heldOr(err)
		}
		time.Sleep(time.Duration(i) * time.Microsecond)
	}
	return ErrHeld
}

func heldOr(err error) error {
	if err == nil {
		return ErrHeld
	}
	return err
}

// askBy reports whether somebody has an exclusive lock. flock has no question, so
// it takes a shared one for a moment, which starters know.
func askBy(fd uintptr) (bool, error) {
	switch err := flock(fd, unix.LOCK_SH|unix.LOCK_NB); err {
	case nil:
		return false, flock(fd, unix.LOCK_UN)
	case unix.EWOULDBLOCK:
		return true, nil
	default:
		return false, err
	}
}

func unlock(fd uintptr, _ Byte) error { return flock(fd, unix.LOCK_UN) }

func held(fd uintptr, b Byte) (bool, error) {
	if b != Owner {
		return false, errors.ErrUnsupported
	}
	return askBy(fd)
}

func flock(fd uintptr, how int) error {
	for {
		err := unix.Flock(int(fd), how)
		if err != unix.EINTR {
			return err
		}
	}
}

// The anchor is a lock on the state directory, by a descriptor of its own: the
// directory's other descriptor may be closed, and closing one unlocks nothing
// while another one of the same description is open.
func tryAnchor(fd uintptr, _ string) (Anchor, error) {
	own, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return Anchor{}, err
	}
	if err := tryLock(uintptr(own), Owner, true); err != nil {
		unix.Close(own)
		return Anchor{}, err
	}
	return Anchor{fd: uintptr(own), placed: true}, nil
}

// mostInherited bounds the numbers that are looked at: what starts a program lays
// descriptors low.
const mostInherited = 4096

// inherited asks each descriptor of the state directory that came with the program:
// the lock is granted again to the description that has it, and to no other one
// while it is held. Should its holder have just let go, this process has it then.
func inherited(state uintptr, _ string) (Anchor, bool) {
	var want unix.Stat_t
	if unix.Fstat(int(state), &want) != nil {
		return Anchor{}, false
	}
	for fd := 3; fd < mostInherited; fd++ {
		// What this process opened is closed on exec.
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Dev != want.Dev || st.Ino != want.Ino {
			continue
		}
		if tryLock(uintptr(fd), Owner, true) == nil {
			return Anchor{fd: uintptr(fd), placed: true}, true
		}
	}
	return Anchor{}, false
}

func anchorHeld(fd uintptr, _ string) (bool, error) { return askBy(fd) }

func dropAnchor(fd uintptr, shared bool) {
	if !shared {
		flock(fd, unix.LOCK_UN)
	}
	unix.Close(int(fd))
}

func checkAnchor(fd uintptr) error { return tryLock(fd, Owner, true) }
