package main

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func emptied(path string) (*os.File, error) {
	f, err := os.Create(path) // locktrunc
	if err != nil {
		return nil, err
	}
	return f, syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
}

func lost(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) // locklost
}

func inherited(path string) (int, error) {
	fd, err := syscall.Open(path, syscall.O_RDWR, 0) // lockcloexec
	if err != nil {
		return -1, err
	}
	return fd, syscall.Flock(fd, syscall.LOCK_EX)
}

func perProcess(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if _, err := os.ReadFile(path); err != nil {
		return nil, err
	}
	return f, unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}) // posixlock
}

func running(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(string(b))
	if err != nil {
		return err
	}
	if syscall.Kill(pid, 0) == nil { // pidalive
		return errors.New("already running")
	}
	return nil
}

func old(lockFile string) bool {
	fi, err := os.Stat(lockFile)
	return err == nil && time.Since(fi.ModTime()) > time.Hour // lockage
}

func mapped(f *os.File) (byte, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, 10, unix.PROT_READ, unix.MAP_SHARED) // mmapclose
	if err != nil {
		return 0, err
	}
	return data[0], nil
}

func record(pidFile string) {
	os.WriteFile(pidFile, []byte(strconv.Itoa(os.Getpid())), 0o600) // recordwrite
}
