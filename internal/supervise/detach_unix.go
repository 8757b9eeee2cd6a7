//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package supervise

import (
	"os"
	"os/exec"
	"syscall"
)

// unblocking opens a fifo without waiting for its reader.
const unblocking = syscall.O_NONBLOCK

// detach gives a command a session of its own, and tell as the descriptor of the
// returned number.
func detach(cmd *exec.Cmd, tell *os.File) (fd uintptr) {
	cmd.ExtraFiles = []*os.File{tell}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return 3 // the first of ExtraFiles
}

// keepFromChild keeps a descriptor that was given to us from what we start.
func keepFromChild(fd int) { syscall.CloseOnExec(fd) }
