package wrong

import (
	"errors"
	"log"
	"os"
	"strconv"
	"syscall"
)

func number() error {
	b, err := os.ReadFile("/run/kb/kb.pid")
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(string(b))
	if err != nil {
		return err
	}
	if syscall.Kill(pid, 0) == nil { // want `pid`
		return errors.New("already running")
	}
	return nil
}

func presence(pidFile string) {
	if _, err := os.Stat(pidFile); err == nil { // want `pid`
		log.Fatal("already running")
	}
}
