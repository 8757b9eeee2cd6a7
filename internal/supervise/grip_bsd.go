//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && solehold_portable)

package supervise

import (
	"syscall"
	"time"

	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
)

// sendCall is the call by which a process is signalled.
const sendCall = "kill"

// grip is a process that was seen with its start. Nothing keeps its number from
// being given to another one: it is looked at before each signal.
type grip struct{ b birth }

// grasp takes hold of a process that was just seen with this start. Where the
// system does not tell the start nobody is proven, and nobody is signalled.
func grasp(b birth) (*grip, error) {
	if !alive(b) {
		return nil, procid.ErrNotThisProcess
	}
	return &grip{b}, nil
}

// Signal sends it a signal.
func (g *grip) Signal(s syscall.Signal) error {
	if g.Ended() {
		return syscall.ESRCH
	}
	return syscall.Kill(g.b.pid, s)
}

// Ended reports whether it has ended.
func (g *grip) Ended() bool { return !alive(g.b) }

// Close has nothing to give back.
func (g *grip) Close() error { return nil }

// await waits for the end of a process, for a moment.
func await(_ *grip, most time.Duration) {
	const look = 20 * time.Millisecond
	time.Sleep(min(most, look))
}

// is reports whether id is the process that was born so. Where the system does not
// tell the start nobody is: its number may be another one's by now.
func (b birth) is(id procid.ID) bool {
	return b.start != 0 && b == birth{id.PID, id.StartTicks}
}

// alive reports whether a process runs that was born so.
func alive(b birth) bool {
	proc := procfs.Default()
	id, err := procid.Of(proc, b.pid)
	if err != nil || !b.is(id) {
		return false
	}
	return procid.NewObserver(proc).Judge(id, "").Life != procid.Dead
}
