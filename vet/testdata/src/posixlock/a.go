package posixlock

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

type dir struct{ name string }

func (d dir) take() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(d.name, "LOCK"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	lk := unix.Flock_t{Type: unix.F_WRLCK}
	return f, unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lk) // want `this lock is dropped when any descriptor of its file is closed, and a.go:22 opens the file too`
}

func (d dir) owner() (string, error) {
	b, err := os.ReadFile(filepath.Join(d.name, "LOCK"))
	return string(b), err
}

// Right: nobody else opens it; the lock belongs to the open file; it is only asked for or let go.

func alone(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return f, unix.FcntlFlock(f.Fd(), unix.F_SETLKW, &unix.Flock_t{Type: unix.F_WRLCK})
}

func ofd(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		return nil, err
	}
	_, err = os.ReadFile(path)
	return f, err
}

func unlock(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		return err
	}
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_UNLCK}); err != nil {
		return err
	}
	_, err = os.ReadFile(path)
	return err
}
