package locktrunc

import (
	"os"
	"syscall"

	"github.com/rogpeppe/go-internal/lockedfile"
)

func create(path string) (*os.File, error) {
	f, err := os.Create(path) // want `the lock file is emptied before the lock \(a.go:15\) is held`
	if err != nil {
		return nil, err
	}
	return f, syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

func flags(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600) // want `is emptied before the lock`
	if err != nil {
		return nil, err
	}
	return f, flock(f)
}

func flock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }

func raw(path string) (int, error) {
	fd, err := syscall.Open(path, syscall.O_TRUNC|syscall.O_RDWR|syscall.O_CLOEXEC, 0o600) // want `is emptied before the lock`
	if err != nil {
		return -1, err
	}
	return fd, syscall.Flock(fd, syscall.LOCK_EX)
}

// Right.

func keep(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		return nil, err
	}
	return f, f.Truncate(0)
}

func notLocked(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return f.Close()
}

func itself(path string) (*lockedfile.File, error) { return lockedfile.Edit(path) }

func unlockOnly(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
}
