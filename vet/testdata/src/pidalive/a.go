package pidalive

import (
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"syscall"
)

var errRunning = errors.New("already running")

func kill(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return err
	}
	if syscall.Kill(pid, 0) == nil { // want `that a process has this number does not make it the owner`
		return errRunning
	}
	return nil
}

func readPid(path string) (int, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(b))
}

func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	return p.Signal(syscall.Signal(0)) == nil
}

func through(path string) bool {
	pid, err := readPid(path)
	return err == nil && alive(pid) // want `that a process has this number`
}

func scan(b []byte) (int, error) {
	var pid int
	_, err := fmt.Sscanln(string(b), &pid)
	return pid, err
}

func scanned(path string) bool {
	b, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	pid, err := scan(b)
	return err == nil && alive(pid) // want `that a process has this number`
}

func exists(pidFile string) error {
	if _, err := os.Stat(pidFile); err == nil { // want `the pid file outlives its owner`
		return errRunning
	}
	return nil
}

func existsFixed() {
	if _, err := os.Lstat("/run/kb/kb.pid"); err == nil { // want `the pid file outlives its owner`
		log.Fatal("already running")
	}
}

// Right.

func child(cmd *os.Process) bool { return alive(cmd.Pid) }

func fromArgument(s string) bool {
	pid, err := strconv.Atoi(s)
	return err == nil && alive(pid)
}

func stop(path string) error {
	pid, err := readPid(path)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGTERM)
}

func tells(pidFile string) bool {
	_, err := os.Stat(pidFile)
	return err == nil
}

func removes(pidFile string) {
	if _, err := os.Stat(pidFile); err == nil {
		os.Remove(pidFile)
	}
}
