package solehold_test

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

const (
	// patience bounds every wait for something that has to happen.
	patience = 10 * time.Second
	// answerTime is how long a call may take: the default.
	answerTime time.Duration = 0
)

// tempDir is a directory of the test.
func tempDir(t testing.TB) string { return t.TempDir() }

// systemParts are the processes of tests for Linux alone.
func systemParts() map[string]func() {
	return map[string]func(){"stormer": storm, "remover": removeAtRandom, "victim": holdUntilKilled, "deaf": serveDeaf}
}

// thisBinary works for every user, wherever the go command has put the binary.
func thisBinary() string { return "/proc/self/exe" }

// killTraced ends an agent below a tracer.
func (a *agent) killTraced() {
	if a.pid != 0 && a.pid != a.cmd.Process.Pid && a.cmd.ProcessState == nil && a.cmd.SysProcAttr == nil {
		syscall.Kill(a.pid, syscall.SIGKILL)
	}
}

// asUser runs a process as another user.
func asUser(uid uint32) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
}

// inOwnMounts runs a process in a mount namespace of its own.
func inOwnMounts(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
}

// inPIDNamespace runs a process as pid 1 of a pid namespace of its own.
func inPIDNamespace(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
}
