package right

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
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lk)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
