//go:build !solehold_portable

package supervise

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// descriptors lists those of this process.
const descriptors = "/proc/self/fd"

// child is the command's first process.
type child struct {
	pid     int
	pidfd   int
	grouped bool // it was born in the cgroup
	done    chan struct{}
}

// spawn starts the command on a thread that lives as long as the child: the
// signal that tells a child of its parent's death is tied to the thread that
// started it.
func spawn(s spec, group *cgroup) (*child, error) {
	c := &child{pidfd: -1, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		started <- s.fork(c, group)
		<-c.done
	}()
	if err := <-started; err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (s spec) fork(c *child, group *cgroup) (err error) {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM, PidFD: &c.pidfd}
	if s.tty.foreground() {
		attr.Setpgid, attr.Foreground, attr.Ctty = false, true, s.tty.fd
	}
	files, closeFiles := s.files()
	defer closeFiles()
	how := &syscall.ProcAttr{Env: s.env, Files: files, Sys: attr}
	if group != nil {
		attr.UseCgroupFD, attr.CgroupFD, c.grouped = true, group.fd, true
		if c.pid, _, err = syscall.StartProcess(s.path, s.args, how); err == nil {
			return nil
		}
		// The group may have been refused (no rights to move there): go without.
		attr.UseCgroupFD, c.grouped = false, false
	}
	c.pid, _, err = syscall.StartProcess(s.path, s.args, how)
	return err
}

// signal reaches the command's first process and no other.
func (c *child) signal(s syscall.Signal) {
	if c.pidfd >= 0 {
		unix.PidfdSendSignal(c.pidfd, s, nil, 0)
		return
	}
	syscall.Kill(c.pid, s)
}

// signalGroup reaches the command's process group. Its number cannot mean
// another group as long as the command was not reaped.
func (c *child) signalGroup(s syscall.Signal) { syscall.Kill(-c.pid, s) }

func (c *child) close() {
	close(c.done)
	if c.pidfd >= 0 {
		unix.Close(c.pidfd)
	}
}
