package wrong

import (
	"os"
	"syscall"

	"github.com/rogpeppe/go-internal/lockedfile"
)

func only(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // want `garbage`
}

func edit(path string) error {
	_, err := lockedfile.Edit(path) // want `thrown away|dropped|let go|release`
	return err
}
