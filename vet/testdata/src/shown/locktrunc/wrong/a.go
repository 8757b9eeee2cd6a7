package wrong

import (
	"os"
	"syscall"
)

func f(path string) (*os.File, error) {
	f, err := os.Create(path) // want `emptied`
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return f, err
}
