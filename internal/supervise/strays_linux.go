//go:build !solehold_portable

package supervise

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// probeVar marks what one run of a probe's command has started.
const probeVar = "SOLEHOLD_PROBE"

// mark gives a mark of its own to each run.
func (n *nursery) mark() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count++
	return fmt.Sprintf("%s=%d.%d", probeVar, os.Getpid(), n.count)
}

// strays ends what has left the group of a probe's command: it came to this
// process as the orphans of the service do, and would be taken for one. Who has
// cleared its environment is.
func (n *nursery) strays(mark string) {
	const rounds = 20 // each ends those that the one before has orphaned
	for range rounds {
		if n.blind || n.endOrphans(mark) == 0 {
			return
		}
	}
}

// endOrphans kills the marked children of this process and waits for them, not
// for long: who has ended is reaped by the loop.
func (n *nursery) endOrphans(mark string) (ended int) {
	const patience = 100 // ms
	children, err := n.proc.Children(0)
	if err != nil {
		return 0
	}
	for _, pid := range children {
		st, err := n.proc.Stat(pid)
		if err != nil || st.State == 'Z' || !n.marked(pid, mark) {
			continue
		}
		h, err := open(n.proc, pid, st.StartTicks)
		if err != nil {
			continue
		}
		h.Signal(syscall.SIGKILL)
		h.Close()
		ended++
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, patience)
			unix.Close(fd)
		}
	}
	return ended
}

func (n *nursery) marked(pid int, mark string) bool {
	env, err := n.proc.Text(pid, "environ")
	return err == nil && slices.Contains(strings.Split(env, "\x00"), mark)
}
