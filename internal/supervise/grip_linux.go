//go:build !solehold_portable

package supervise

import (
	"time"

	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
	"golang.org/x/sys/unix"
)

// sendCall is the call by which a process is signalled.
const sendCall = "pidfd_send_signal"

// grip is a process held by its descriptor.
type grip = procid.Handle

// grasp takes hold of a process that was just seen with this start.
func grasp(b birth) (*grip, error) { return open(procfs.Default(), b.pid, b.start) }

func birthOf(pid int) (birth, error) {
	st, err := procfs.Default().Stat(pid)
	return birth{st.PID, st.StartTicks}, err
}

// birthsBelow lists the living descendants of a process.
func birthsBelow(pid int) (all []birth) {
	t := tree{proc: procfs.Default(), self: pid}
	for _, st := range t.members() {
		all = append(all, birth{st.PID, st.StartTicks})
	}
	return all
}

// await waits for the end of a process, for a while.
func await(g *grip, most time.Duration) {
	unix.Poll([]unix.PollFd{{Fd: int32(g.FD()), Events: unix.POLLIN}}, int(most.Milliseconds())+1)
}

// commandOf is the command line of a process, for people.
func commandOf(pid int) []string {
	command, _ := procfs.Default().Cmdline(pid)
	return command
}
