package solehold_test

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// systemParts are the processes of tests for Linux alone.
func systemParts() map[string]func() {
	return map[string]func(){"stormer": storm, "remover": removeAtRandom, "victim": holdUntilKilled}
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

// inheriting gives the process the descriptors as its 3, 4 and so on.
func inheriting(fds ...uintptr) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		for _, fd := range fds {
			if dup, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3); err == nil {
				cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(dup), "shared"))
			}
		}
	}
}
