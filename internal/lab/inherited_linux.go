package lab

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/solehold/solehold/internal/procfs"
	"golang.org/x/sys/unix"
)

func inheritedFlock() Experiment {
	const (
		after  = "a second start after the owner was killed, its child alive"
		listed = "/proc/locks names"
		holds  = "/proc/PID/fdinfo shows it at"
		freed  = "a second start after the child has ended, too"
		exec   = "a second start after the owner was killed, opened with close-on-exec"
	)
	return Experiment{
		Name:     "inherited",
		Title:    "a lock that outlives its owner",
		Believed: "The owner is dead, so nobody holds the lock; /proc/locks must be wrong, or the lock stale.",
		Happens: "A flock or OFD lock belongs to the open file, which a child inherits unless it was opened with O_CLOEXEC. As long as any child has the " +
			"descriptor, daemon or ssh-agent, the lock is held, rightly. /proc/locks goes on naming who took it, alive or not.",
		Advice: "Open lock files with O_CLOEXEC (Go's os.OpenFile does; a raw open(2) does not), or start children with the descriptor closed (9>&- in a shell). " +
			"`solehold doctor PATH` lists everybody who shares it. Where the tree shall keep the lock, as below `solehold run`, that is on purpose.",
		Facts: []Fact{{after, refused}, {listed, ""}, {holds, "the child"}, {freed, gets}, {exec, gets}},
		run: func(b *bench) {
			owner, tidy, second := b.actor(), b.actor(), b.actor()
			lock, other := b.path("lock"), b.path("other")
			mode := ""
			b.decisive(func() { mode = "leaky" })
			owner.must("open", "f", lock, mode)
			owner.must("flock", "f")
			child := b.pid(owner.must("child", "keep"))
			tidy.must("open", "f", other)
			tidy.must("flock", "f")
			tidy.must("child", "keep")
			owner.kill()
			tidy.kill()
			b.try(after, second, "hold", lock)
			b.see(listed, b.listed(lock, owner.pid, child))
			b.see(holds, b.holder(lock, child))
			b.endProcess(child)
			b.try(freed, second, "hold", lock)
			b.try(exec, second, "hold", other)
		},
	}
}

// pid reads the pid that an actor has answered.
func (b *bench) pid(text string) (pid int) {
	b.do(func() (err error) {
		pid, err = strconv.Atoi(text)
		return err
	})
	return pid
}

// listed says whom the kernel's table names for the lock of a file.
func (b *bench) listed(path string, owner, child int) (who string) {
	who = "nobody: another pid namespace"
	b.do(func() error {
		var st syscall.Stat_t
		if err := syscall.Stat(path, &st); err != nil {
			return err
		}
		locks, err := procfs.Default().Locks()
		for _, l := range locks {
			switch {
			case l.Inode != st.Ino:
			case l.PID == owner:
				who = "the dead owner"
			case l.PID == child:
				who = "the child"
			}
		}
		return err
	})
	return who
}

// holder says whether the child has a descriptor of the file with a lock on it.
func (b *bench) holder(path string, child int) (who string) {
	who = "nobody"
	proc := procfs.Default()
	b.do(func() error {
		fds, err := proc.FDs(child)
		for _, fd := range fds {
			target, err := proc.FDTarget(child, fd)
			if err != nil || target != path {
				continue
			}
			info, err := proc.FDInfo(child, fd)
			if err != nil {
				return err
			}
			if len(info.Locks) > 0 {
				who = "the child"
			}
		}
		return err
	})
	return who
}

// endProcess kills a process that is not ours to reap. It returns when the last of its
// threads is gone: the first one is a zombie before the others let go of what is open.
func (b *bench) endProcess(pid int) {
	b.do(func() error {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return os.NewSyscallError("pidfd_open", err)
		}
		defer unix.Close(fd)
		if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil {
			return os.NewSyscallError("pidfd_send_signal", err)
		}
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			if n == 1 || err != nil && err != unix.EINTR {
				return os.NewSyscallError("poll", err)
			}
			if err := b.pause(); err != nil {
				return fmt.Errorf("process %d does not end: %w", pid, err)
			}
		}
	})
}
