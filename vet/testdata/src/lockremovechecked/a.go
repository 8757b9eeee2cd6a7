// Package lockremovechecked removes its lock file and knows what it does: who gets the lock looks whether it is still
// the file at the path.
package lockremovechecked

import (
	"os"
	"syscall"
)

func take(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			f.Close()
			return nil, err
		}
		mine, err1 := f.Stat()
		there, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(mine, there) {
			return f, nil
		}
		f.Close()
	}
}

func drop(path string, f *os.File) error {
	os.Remove(path)
	return f.Close()
}
