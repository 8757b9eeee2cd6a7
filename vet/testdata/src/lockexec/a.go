package lockexec

import (
	"context"
	"os/exec"
	"syscall"

	"github.com/gofrs/flock"
)

func bare(fl *flock.Flock) error {
	if err := fl.Lock(); err != nil {
		return err
	}
	defer fl.Unlock()
	cmd := exec.Command("backup")
	if err := cmd.Run(); err != nil { // want `the child outlives this process and goes on while the lock from a.go:12 is free again`
		return err
	}
	return exec.CommandContext(context.Background(), "sync").Run() // want `the child outlives this process`
}

// Right.

func planned(fl *flock.Flock) error {
	if err := fl.Lock(); err != nil {
		return err
	}
	defer fl.Unlock()
	cmd := exec.Command("backup")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd.Run()
}

func before(fl *flock.Flock) error {
	if err := exec.Command("check").Run(); err != nil {
		return err
	}
	if err := fl.Lock(); err != nil {
		return exec.Command("tell").Run()
	}
	if err := fl.Unlock(); err != nil {
		return err
	}
	return exec.Command("after").Run()
}

func given(fl *flock.Flock, cmd *exec.Cmd) error {
	if err := fl.Lock(); err != nil {
		return err
	}
	defer fl.Unlock()
	return cmd.Run()
}

func handed(fl *flock.Flock, prepare func(*exec.Cmd)) error {
	if err := fl.Lock(); err != nil {
		return err
	}
	defer fl.Unlock()
	cmd := exec.Command("backup")
	prepare(cmd)
	return cmd.Run()
}
