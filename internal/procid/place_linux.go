package procid

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/solehold/solehold/internal/procfs"
)

var errOtherProc = errors.New("the mounted /proc counts the processes of another pid namespace")

// initPIDNS is the fixed inode of the first pid namespace, from which every
// process is visible (linux/proc_ns.h).
const initPIDNS = 0xEFFFFFFC

func identify(proc procfs.FS, pid int) (ID, error) {
	if pid != 0 && !countsAsWeDo(proc) {
		return ID{}, errOtherProc
	}
	stat, err := proc.Stat(pid)
	if err != nil {
		return ID{}, err
	}
	id := ID{PID: stat.PID, StartTicks: stat.StartTicks}
	if pid == 0 {
		id.PID = os.Getpid() // as PIDNS counts, whichever /proc is mounted
	}
	id.BootID, _ = proc.BootID()
	// The observer's namespaces, not the process': pid and ticks were read here.
	id.PIDNS, _ = proc.Namespace(0, "pid")
	id.TimeNS, _ = proc.Namespace(0, "time")
	k, _ := ask(id.PID)
	id.PidfsID = k.number
	return id, nil
}

// countsAsWeDo is false where a pid in proc means another process than the same
// pid in a system call: in a new pid namespace without a new mount of /proc.
func countsAsWeDo(proc procfs.FS) bool {
	stat, err := proc.Stat(0)
	return err == nil && stat.PID == os.Getpid()
}

func (o Observer) judge(id ID, machine string) Verdict {
	switch {
	case machine != "" && o.machine != "" && machine != o.machine && id.BootID != o.self.BootID:
		return Verdict{Unknown, OtherMachine, "written on another machine"}
	case id.BootID == "" || o.self.BootID == "":
		return Verdict{Unknown, OtherBoot, "the boot is not known"}
	case id.BootID != o.self.BootID && (machine == "" || o.machine == ""):
		return Verdict{Unknown, OtherBoot, "another boot, of this machine or of another one: a machine id is missing"}
	case id.BootID != o.self.BootID:
		return Verdict{Dead, OtherBoot, "this machine has booted since"}
	case id.PIDNS != o.self.PIDNS || id.PIDNS == 0:
		return o.elsewhere(id)
	}
	return o.here(id)
}

// elsewhere judges a process that was counted in another pid namespace.
func (o Observer) elsewhere(id ID) Verdict {
	why := OtherNamespace
	if id.PID == o.self.PID {
		why = OwnPID
	}
	v := Verdict{Unknown, why, fmt.Sprintf("pid %d of another pid namespace (%d, here %d)", id.PID, id.PIDNS, o.self.PIDNS)}
	if o.self.PIDNS != initPIDNS || id.PidfsID == 0 {
		return v
	}
	// From the first namespace every process is visible, and the kernel's number
	// finds it whatever pid it has.
	switch alive, err := pidfsAlive(id.PidfsID); {
	case err != nil:
		return v
	case alive:
		v.Life = Alive
	default:
		v.Life = Dead
	}
	return v
}

func (o Observer) here(id ID) Verdict {
	k, askErr := ask(id.PID)
	stat, err := o.proc.Stat(id.PID)
	if o.blind {
		err = errOtherProc
	}
	numbered := k.number != 0 && id.PidfsID != 0
	switch {
	case errors.Is(askErr, errNoProcess):
		return o.dead(NoSuchProcess, fmt.Sprintf("no process %d", id.PID))
	case errors.Is(askErr, errThread):
		return o.dead(NotAProcess, fmt.Sprintf("%d is a thread now, not a process", id.PID))
	case err != nil && numbered && k.number != id.PidfsID:
		return o.dead(PIDReused, fmt.Sprintf("pid %d is another process now, hidden from this user", id.PID))
	case err != nil && numbered && k.ended:
		return o.dead(Zombie, fmt.Sprintf("pid %d has exited; its parent, hidden from this user, has not reaped it yet", id.PID))
	case err != nil && numbered:
		return Verdict{Alive, SameProcess, fmt.Sprintf("pid %d, details hidden", id.PID)}
	case errors.Is(err, fs.ErrNotExist) && askErr != nil:
		return Verdict{Unknown, Hidden, fmt.Sprintf("process %d is not visible to this user; that it is gone cannot be proven", id.PID)}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return Verdict{Unknown, Hidden, fmt.Sprintf("process %d is hidden from this user", id.PID)}
	case err != nil:
		return Verdict{Unknown, Hidden, fmt.Sprintf("process %d cannot be looked at: %v", id.PID, err)}
	}
	return o.compare(id, stat, k.number)
}

// compare judges by what is visible under the pid now.
func (o Observer) compare(id ID, stat procfs.Stat, number uint64) Verdict {
	if status, err := o.proc.Status(id.PID); err == nil && status.Tgid != id.PID {
		return o.dead(NotAProcess, fmt.Sprintf("%d is a thread of process %d now", id.PID, status.Tgid))
	}
	same, certain := o.same(id, stat, number)
	if !same && certain {
		why := PIDReused
		if id.PID == o.self.PID {
			why = OwnPID
		}
		return o.dead(why, fmt.Sprintf("pid %d is another process now: %s", id.PID, describe(o.proc, id.PID)))
	}
	// Also where it is not certain which one it is: what has exited is neither.
	if stat.Ended() {
		return o.dead(Zombie, fmt.Sprintf("pid %d has exited; its parent, pid %d (%s), has not reaped it yet",
			id.PID, stat.PPID, describe(o.proc, stat.PPID)))
	}
	if !certain {
		return Verdict{Unknown, OtherNamespace, fmt.Sprintf(
			"pid %d was written down in another time namespace (%d, here %d), which counts start times otherwise",
			id.PID, id.TimeNS, o.self.TimeNS)}
	}
	return Verdict{Alive, SameProcess, fmt.Sprintf("pid %d, same start time, same boot", id.PID)}
}

// same compares the kernel's number where both have one, else the start time,
// which is only certain in one time namespace.
func (o Observer) same(id ID, stat procfs.Stat, number uint64) (same, certain bool) {
	if id.PidfsID != 0 && number != 0 {
		return id.PidfsID == number, true
	}
	return id.StartTicks == stat.StartTicks, id.TimeNS == o.self.TimeNS
}

func describe(proc procfs.FS, pid int) string {
	if command, err := proc.Cmdline(pid); err == nil && len(command) > 0 {
		return join(command)
	}
	if stat, err := proc.Stat(pid); err == nil {
		return stat.Comm
	}
	return "not visible"
}

func machineID() string {
	for _, name := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if b, err := os.ReadFile(name); err == nil && hexID(string(b), 32) != "" {
			return strings.TrimSpace(string(b))
		}
	}
	return "" // also where the file says "uninitialized", as every machine's does at its first boot
}

// startedBy is told by /proc already.
func startedBy(int) string { return "" }
