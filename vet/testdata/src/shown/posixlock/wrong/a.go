package wrong

import (
	"os"

	"golang.org/x/sys/unix"
)

func f(path string, lk unix.Flock_t) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lk) // want `dropped when any descriptor`
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	return b, err
}
