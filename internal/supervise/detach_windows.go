package supervise

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

const unblocking = 0

// detach gives a command a console of its own that nobody sees, and tell as the
// handle of the returned number.
func detach(cmd *exec.Cmd, tell *os.File) (fd uintptr) {
	fd = tell.Fd()
	windows.SetHandleInformation(windows.Handle(fd), windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags:              windows.CREATE_NO_WINDOW | windows.CREATE_NEW_PROCESS_GROUP,
		AdditionalInheritedHandles: []syscall.Handle{syscall.Handle(fd)},
	}
	return fd
}

// keepFromChild keeps a handle that was given to us from what we start.
func keepFromChild(fd int) {
	windows.SetHandleInformation(windows.Handle(fd), windows.HANDLE_FLAG_INHERIT, 0)
}
