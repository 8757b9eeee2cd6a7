//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package supervise

import (
	"os"
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
// that from the background, were SIGTTOU not ignored from now on.
func (t *terminal) give(group int) {
	signal.Ignore(syscall.SIGTTOU)
	unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group)
}

// resume continues the command, with the terminal if the shell gave it to us.
func (t *terminal) resume(child int) {
	if t.foreground() {
		t.give(child)
	}
	syscall.Kill(-child, syscall.SIGCONT)
}

// takeBack makes our own group the foreground again where the child's is it, and
// reports that: a run in the background must not take the terminal from the shell.
func (t *terminal) takeBack(child int) bool {
	if t == nil {
		return false
	}
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	if err != nil || group != child {
		return false
	}
	t.give(t.own)
	return true
}

// stopped follows the command when the terminal stopped it, or it stopped itself
// while it had the terminal: we take that back and stop too, so that the shell
// sees its job stopped. One that somebody else stopped he will continue.
func (r *runner) stopped(sig syscall.Signal) {
	had := r.tty.takeBack(r.child.pid)
	reads := sig == syscall.SIGTTIN || sig == syscall.SIGTTOU
	switch {
	case r.tty == nil, !had && !reads && sig != syscall.SIGTSTP:
		return
	case reads && r.tty.foreground():
		// A shell that brings a running job to the front gives it the terminal
		// and no signal; it is the command's as soon as that asks.
		r.continued()
	case orphanedGroup():
		// Nobody could continue us. The kernel does not let ^Z stop a program
		// in this place, so neither do we; one that waits for the terminal
		// would only stop again.
		if !reads {
			r.continued()
		}
	case had:
		suspend(0) // and the rest of a pipeline, the script, as the key would have without us
	default:
		suspend(os.Getpid())
	}
}

// suspend stops this process, or its group. What is sent to all must not come
// back here as a signal to pass on.
func suspend(who int) {
	signal.Ignore(syscall.SIGTSTP) // until continued
	syscall.Kill(who, syscall.SIGTSTP)
	syscall.Kill(os.Getpid(), syscall.SIGSTOP)
}

// continued resumes the command after SIGCONT.
func (r *runner) continued() {
	signal.Notify(r.signals, syscall.SIGTSTP) // see suspend
	r.tty.resume(r.child.pid)
}

// passOn gives the command a signal that does not ask to end.
func (r *runner) passOn(s syscall.Signal) {
	switch {
	case r.child == nil:
		if s == syscall.SIGTSTP {
			suspend(os.Getpid())
		}
	case r.end != nil:
		// The command is gone, its pid may be another's, and what is left was
		// asked to end already.
	case s == syscall.SIGCONT:
		r.continued()
	case s == syscall.SIGTSTP:
		r.child.signalGroup(s)
		if r.tty == nil && !orphanedGroup() {
			suspend(os.Getpid())
		}
	default:
		r.child.signal(s)
	}
}

// ask asks the command's group to end. SIGCONT follows, since a stopped process
// would not hear the request.
func (c *child) ask(sig syscall.Signal) {
	c.signalGroup(sig)
	c.signalGroup(syscall.SIGCONT)
}

// endFrom is the end that the system reports.
func endFrom(status syscall.WaitStatus) End {
	if status.Exited() {
		return End{Code: status.ExitStatus()}
	}
	return End{Signal: status.Signal(), Core: status.CoreDump()}
}
