package wrong

import (
	"fmt"
	"os"
	"syscall"
)

func file(pid []byte) {
	os.WriteFile("/run/kb/kb.pid", pid, 0o644) // want `unchecked|not checked|error`
}

func record(lockedFile *os.File) error {
	if err := syscall.Flock(int(lockedFile.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	fmt.Fprintln(lockedFile, os.Getpid()) // want `unchecked|not checked|error`
	return nil
}
