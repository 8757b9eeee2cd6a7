//go:build linux || darwin || freebsd || netbsd

package datadir

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// attribute returns what the directory remembers of its state; nil without it, and
// on a file system without attributes.
func (d *Dir) attribute() []byte {
	buf := make([]byte, 256) // nearly always enough, and there mostly is none
	n, err := unix.Fgetxattr(d.fd, pairAttr, buf)
	if err == unix.ERANGE {
		buf = make([]byte, 8192)
		n, err = unix.Fgetxattr(d.fd, pairAttr, buf)
	}
	if err != nil {
		return nil
	}
	return buf[:n]
}

// setAttribute lets the directory remember. Without attributes only the state's
// side does, which is no error.
func (d *Dir) setAttribute(text []byte) error {
	err := unix.Fsetxattr(d.fd, pairAttr, text, 0)
	if err == nil || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) || err == unix.EROFS {
		return nil
	}
	return &fs.PathError{Op: "setxattr", Path: d.path, Err: err}
}
