package right

import (
	"fmt"
	"os"
	"syscall"
)

func file(pid []byte) error {
	if err := os.WriteFile("/run/kb/kb.pid", pid, 0o644); err != nil {
		return err
	}
	return nil
}

func record(lockedFile *os.File) error {
	if err := syscall.Flock(int(lockedFile.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(lockedFile, os.Getpid()); err != nil {
		return err
	}
	return nil
}
