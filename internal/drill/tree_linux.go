package drill

import (
	"golang.org/x/sys/unix"

	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
)

// below lists the living processes below one, each before those below it.
func below(proc procfs.FS, root int) []procfs.Stat {
	const most = 1 << 16
	var found []procfs.Stat
	for queue := []int{root}; len(queue) > 0 && len(found) < most; queue = queue[1:] {
		children, err := proc.Children(queue[0])
		if err != nil {
			continue // it has ended
		}
		for _, pid := range children {
			st, err := proc.Stat(pid)
			if err != nil || st.PPID != queue[0] {
				continue // ended, or the number is another's by now
			}
			queue = append(queue, pid)
			if !st.Ended() {
				found = append(found, st)
			}
		}
	}
	return found
}

// hold gives a descriptor that is proven to be the process that was seen.
func hold(proc procfs.FS, seen procfs.Stat) (*procid.Handle, error) {
	id, err := procid.Of(proc, seen.PID)
	if err != nil {
		return nil, err
	}
	if id.StartTicks != seen.StartTicks {
		return nil, procid.ErrNotThisProcess
	}
	return procid.Open(proc, id)
}

// send gives a signal to each of the processes that were seen.
func send(proc procfs.FS, seen []procfs.Stat, sig unix.Signal) {
	for _, st := range seen {
		h, err := hold(proc, st)
		if err != nil {
			continue // gone meanwhile
		}
		h.Signal(sig)
		h.Close()
	}
}

// endAll kills the processes that were seen; who comes again finds what they brought forth meanwhile.
func endAll(seen []procfs.Stat) { send(procfs.Default(), seen, unix.SIGKILL) }
