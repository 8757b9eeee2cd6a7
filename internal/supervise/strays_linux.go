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

// begin gives a run the mark of what its command starts.
func (n *nursery) begin() (mark string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count++
	mark = fmt.Sprintf("%s=%d.%d", probeVar, os.Getpid(), n.count)
	n.running = append(n.running, mark)
	return mark
}

// strays ends what has left the group of a probe's command: it came to this
// process as the orphans of the service do, and would be taken for one. Who has
// cleared its environment is. One that is just becoming another program shows no
// environment and is met again after the next run.
func (n *nursery) strays(mark string) {
	n.mu.Lock()
	n.running = slices.DeleteFunc(n.running, func(m string) bool { return m == mark })
	n.mu.Unlock()
	const rounds = 20 // each ends those that the one before has orphaned
	for range rounds {
		if n.blind || n.endOrphans() == 0 {
			return
		}
	}
}

// endOrphans kills those children of this process whose run is over, and waits for
// them, not for long: who has ended is reaped by the loop.
func (n *nursery) endOrphans() (ended int) {
	const patience = 100 // ms
	children, err := n.proc.Children(0)
	if err != nil {
		return 0
	}
	for _, pid := range children {
		st, err := n.proc.Stat(pid)
		if err != nil || st.Ended() || !n.strayed(pid) {
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

func (n *nursery) strayed(pid int) bool {
	env, err := n.proc.Text(pid, "environ")
	if err != nil {
		return false
	}
	ours := fmt.Sprintf("%s=%d.", probeVar, os.Getpid())
	for mark := range strings.SplitSeq(env, "\x00") {
		if strings.HasPrefix(mark, ours) {
			n.mu.Lock()
			defer n.mu.Unlock()
			return !slices.Contains(n.running, mark)
		}
	}
	return false
}
