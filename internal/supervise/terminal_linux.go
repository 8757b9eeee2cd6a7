package supervise

import (
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal of a run that a person started. A nil
// one does nothing. The command gets a process group of its own, and with it
// the terminal, so that it is stopped and interrupted by the keys as without
// the wrapper.
type terminal struct {
	fd  int
	own int // our process group
}

// openTerminal finds the terminal among the standard files.
func openTerminal() *terminal {
	own := unix.Getpgrp()
	for fd := range 3 {
		if _, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil {
			return &terminal{fd: fd, own: own}
		}
	}
	return nil
}

// foreground reports whether the keys reach us now.
func (t *terminal) foreground() bool {
	if t == nil {
		return false
	}
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil && group == t.own
}

// give makes a group the one that the keys reach. The kernel would stop us for
// that from the background, were SIGTTOU not ignored for the moment.
func (t *terminal) give(group int) {
	signal.Ignore(syscall.SIGTTOU)
	unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group)
	signal.Reset(syscall.SIGTTOU)
}

// stopped follows the command when it was stopped: we take the terminal back
// and stop too, so that the shell sees its job stopped.
func (t *terminal) stopped(child int) {
	if t == nil {
		return
	}
	t.takeBack(child)
	syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
}

// continued resumes the command, with the terminal if the shell gave it to us.
func (t *terminal) continued(child int) {
	if t.foreground() {
		t.give(child)
	}
	syscall.Kill(-child, syscall.SIGCONT)
}

// takeBack makes our own group the foreground again where the child's is it: a
// run in the background must not take the terminal from the shell.
func (t *terminal) takeBack(child int) {
	if t == nil {
		return
	}
	if group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP); err == nil && group == child {
		t.give(t.own)
	}
}
