package recordwrite

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

func whole(pidFile string) {
	os.WriteFile(pidFile, []byte("1"), 0o600)      // want `a failed write of the pid file goes unnoticed`
	_ = os.WriteFile("/run/kb/kb.pid", nil, 0o600) // want `a failed write of the pid file goes unnoticed`
}

func record(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	fmt.Fprintln(f, os.Getpid())             // want `a failed write of the record goes unnoticed`
	f.WriteString(strconv.Itoa(os.Getpid())) // want `a failed write of the record goes unnoticed`
	return f, nil
}

func closeDropped() error {
	f, err := os.Create("/run/kb/kb.pid")
	if err != nil {
		return err
	}
	defer f.Close() // want `a write of the pid file that fails at its close goes unnoticed`
	_, err = fmt.Fprintln(f, os.Getpid())
	return err
}

// Right.

func checked(pidFile string) error {
	f, err := os.Create(pidFile)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, os.Getpid()); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func synced(pidFile string) error {
	f, err := os.Create(pidFile)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, os.Getpid()); err != nil {
		return err
	}
	return f.Sync()
}

func lockedAndChecked(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, os.Getpid())
	return err
}

func other(path string) {
	os.WriteFile(path, nil, 0o600)
	f, err := os.Create(path)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, "hello")
	fmt.Fprintln(os.Stderr, "hello")
}
