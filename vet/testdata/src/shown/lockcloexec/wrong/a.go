package wrong

import "syscall"

func f(path string) (int, error) {
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT, 0o666) // want `close-on-exec|CLOEXEC`
	if err != nil {
		return -1, err
	}
	err = syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
	return fd, err
}
