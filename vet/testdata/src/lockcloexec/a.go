package lockcloexec

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func leaks(path string) (int, error) {
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT, 0o600) // want `every child inherits this descriptor and with it the lock \(a.go:15\)`
	if err != nil {
		return -1, err
	}
	return fd, syscall.Flock(fd, syscall.LOCK_EX)
}

type lock struct{ fd int }

func (l *lock) open(path string) error {
	fd, err := unix.Openat(unix.AT_FDCWD, path, unix.O_RDWR, 0o600) // want `every child inherits`
	if err != nil {
		return err
	}
	l.fd = fd
	return nil
}

func (l *lock) take() error { return unix.Flock(l.fd, unix.LOCK_EX) }

func dup(f *os.File) error {
	fd, err := unix.Dup(int(f.Fd())) // want `every child inherits`
	if err != nil {
		return err
	}
	return unix.Flock(fd, unix.LOCK_EX)
}

// Right.

func flagged(path string) (int, error) {
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return -1, err
	}
	return fd, syscall.Flock(fd, syscall.LOCK_EX)
}

func later(path string) (int, error) {
	fd, err := syscall.Open(path, syscall.O_RDWR, 0o600)
	if err != nil {
		return -1, err
	}
	syscall.CloseOnExec(fd)
	return fd, syscall.Flock(fd, syscall.LOCK_EX)
}

func ofOS(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return f, syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
}

func notLocked(path string) (int, error) { return syscall.Open(path, syscall.O_RDWR, 0) }

func chosen(path string, flags int) (int, error) {
	fd, err := syscall.Open(path, flags, 0o600)
	if err != nil {
		return -1, err
	}
	return fd, syscall.Flock(fd, syscall.LOCK_EX)
}
