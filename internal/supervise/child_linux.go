package supervise

import (
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockFDs is where the lock's descriptors lie in the command: above those that
// programs and shells count on.
const lockFDs = 64

// spec is what a child is started with.
type spec struct {
	path      string
	args, env []string
	held      []uintptr // descriptors of the lock, for the child to keep
	inherited []int     // descriptors given to us from outside, e.g. by socket activation
	cgroup    *cgroup
	tty       *terminal
	output    *output
}

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
func spawn(s spec) (*child, error) {
	c := &child{pidfd: -1, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		started <- s.fork(c)
		<-c.done
	}()
	if err := <-started; err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (s spec) fork(c *child) (err error) {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM, PidFD: &c.pidfd}
	if s.tty.foreground() {
		attr.Setpgid, attr.Foreground, attr.Ctty = false, true, s.tty.fd
	}
	files, closeFiles := s.files()
	defer closeFiles()
	how := &syscall.ProcAttr{Env: s.env, Files: files, Sys: attr}
	if s.cgroup != nil {
		attr.UseCgroupFD, attr.CgroupFD, c.grouped = true, s.cgroup.fd, true
		if c.pid, _, err = syscall.StartProcess(s.path, s.args, how); err == nil {
			return nil
		}
		// The group may have been refused (no rights to move there): go without.
		attr.UseCgroupFD, c.grouped = false, false
	}
	c.pid, _, err = syscall.StartProcess(s.path, s.args, how)
	return err
}

// files lays out the child's descriptors: those given to us stay where they
// are, the lock's come above, everything else is closed.
func (s spec) files() (files []uintptr, closeAll func()) {
	const closed = ^uintptr(0)
	var dups []int
	put := func(fd int) {
		for len(files) <= fd {
			files = append(files, closed)
		}
		files[fd] = uintptr(fd)
	}
	for fd := range 3 {
		put(fd)
		files[fd] = s.output.fd(fd)
	}
	for _, fd := range s.inherited {
		put(fd)
	}
	for _, fd := range s.held {
		high, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, lockFDs)
		if err != nil {
			high = int(fd) // no room above: where it is, then
		} else {
			dups = append(dups, high)
		}
		put(high)
	}
	return files, func() {
		for _, fd := range dups {
			unix.Close(fd)
		}
	}
}

// inheritedFiles lists what this process was given beyond the standard three.
// It must be called before anything else is opened for keeps.
func inheritedFiles() []int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	var fds []int
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < 3 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			fds = append(fds, fd)
		}
	}
	return fds
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
