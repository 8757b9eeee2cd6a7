//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package supervise

import (
	"os"
	"strconv"

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
	tty       *terminal
	output    *output
}

// spec is what the command is started with.
func (r *runner) spec() spec {
	s := spec{
		path: r.path, args: r.c.Command, inherited: r.inherited, tty: r.tty,
		env: r.relay.environment(r.lock), output: r.output,
	}
	if r.c.Hold != HoldNone {
		s.held = r.lock.Share()
	}
	return s
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

// inherit notes what was given to this process, before anything else is opened.
func (r *runner) inherit() { r.inherited = inheritedFiles() }

// inheritedFiles lists what this process was given beyond the standard three.
// It must be called before anything else is opened for keeps.
func inheritedFiles() []int {
	entries, err := os.ReadDir(descriptors)
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
