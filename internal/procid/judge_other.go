//go:build !linux

package procid

import (
	"errors"
	"fmt"
	"os"

	"github.com/solehold/solehold/internal/procfs"
)

var (
	errNoProcess = errors.New("no such process")
	errHidden    = errors.New("hidden from this user")
)

// glance is what a system tells of a pid.
type glance struct {
	start uint64 // as ID.StartTicks; 0 where the system does not tell
	ended bool   // it has exited, and is still listed
}

// identify asks the system itself: there is no /proc to trust.
func identify(_ procfs.FS, pid int) (ID, error) {
	if pid == 0 {
		pid = os.Getpid()
	}
	now, err := look(pid)
	if err != nil {
		return ID{PID: pid, BootID: bootID()}, err
	}
	return ID{PID: pid, StartTicks: now.start, BootID: bootID(), Session: session(pid)}, nil
}

// countsAsWeDo is a question of /proc.
func countsAsWeDo(procfs.FS) bool { return true }

func (o Observer) judge(id ID, machine string) Verdict {
	switch {
	case machine != "" && o.machine != "" && machine != o.machine:
		return Verdict{Unknown, OtherMachine, "written on another machine"}
	case id.BootID == o.self.BootID || id.BootID == "" || o.self.BootID == "":
		return o.here(id)
	case machine == "" || o.machine == "":
		return Verdict{Unknown, OtherBoot, "another boot, of this machine or of another one: a machine id is missing"}
	}
	return o.dead(OtherBoot, "this machine has booted since")
}

func (o Observer) here(id ID) Verdict {
	now, err := look(id.PID)
	switch {
	case errors.Is(err, errNoProcess) && confined():
		return Verdict{Unknown, OtherNamespace, fmt.Sprintf("no process %d in this jail, which does not show those outside", id.PID)}
	case errors.Is(err, errNoProcess):
		return o.dead(gone(id), fmt.Sprintf("no process %d", id.PID))
	case err != nil:
		return Verdict{Unknown, Hidden, fmt.Sprintf("process %d cannot be looked at: %v", id.PID, err)}
	case now.ended:
		return o.dead(Zombie, fmt.Sprintf("pid %d has exited", id.PID))
	case now.start == 0 || id.StartTicks == 0:
		return Verdict{Unknown, Hidden, fmt.Sprintf("process %d lives, and whether it is the same one this system does not tell", id.PID)}
	case now.start == id.StartTicks:
		return Verdict{Alive, SameProcess, fmt.Sprintf("pid %d, same start time", id.PID)}
	case id.PID == o.self.PID:
		return o.dead(OwnPID, fmt.Sprintf("pid %d is this process now", id.PID))
	}
	return o.dead(PIDReused, fmt.Sprintf("pid %d is another process now", id.PID))
}
