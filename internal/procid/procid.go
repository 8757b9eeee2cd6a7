// Package procid tells whether a process that was written down is the one that
// has its pid now. A pid alone proves nothing: it is used again, and it means
// another process in another pid namespace. Identity is the pid with its start
// time, the boot, the namespaces it was counted in and, from Linux 6.9 on, the
// kernel's own number of the process that is never used twice.
//
// Nothing here sends a signal to ask a question.
package procid

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/solehold/solehold/internal/procfs"
)

// ErrNotThisProcess says that the pid belongs to another process now, or to none.
var ErrNotThisProcess = errors.New("the pid belongs to another process now")

var errOtherProc = errors.New("the mounted /proc counts the processes of another pid namespace")

// initPIDNS is the fixed inode of the first pid namespace, from which every
// process is visible (linux/proc_ns.h).
const initPIDNS = 0xEFFFFFFC

// ID names one process of one boot.
type ID struct {
	// PID is the number in the pid namespace PIDNS.
	PID int
	// StartTicks is the start in clock ticks since boot, as TimeNS counts.
	StartTicks uint64
	// BootID is the kernel's random id of the boot; empty if unknown.
	BootID string
	// PIDNS is the inode of the pid namespace; 0 if unknown.
	PIDNS uint64
	// TimeNS is the inode of the time namespace; 0 if unknown.
	TimeNS uint64
	// PidfsID is the inode of the process' pidfd, 0 where the kernel has none.
	PidfsID uint64
}

// Life is what can be proven about a process.
type Life string

// The verdicts about a process. Everything that is neither proven alive nor
// proven dead is Unknown.
const (
	Alive   Life = "alive"
	Dead    Life = "dead"
	Unknown Life = "unknown"
)

// Why is the reason of a verdict, in the words that `status` prints.
type Why string

// The reasons.
const (
	SameProcess    Why = "same-process"
	NoSuchProcess  Why = "no-such-process"
	PIDReused      Why = "pid-reused"
	OwnPID         Why = "own-pid"
	NotAProcess    Why = "thread-not-process"
	Zombie         Why = "zombie"
	OtherBoot      Why = "other-boot"
	OtherMachine   Why = "other-machine"
	OtherNamespace Why = "other-namespace"
	Hidden         Why = "hidden"
)

// Verdict is a judgement with its reason.
type Verdict struct {
	// Life is what is proven.
	Life Life
	// Why is the reason.
	Why Why
	// Detail says it in words, for people.
	Detail string
}

// Observer judges from where this process stands.
type Observer struct {
	proc    procfs.FS
	self    ID
	machine string
	blind   bool // proc counts another pid namespace than the kernel does for us
}

// NewObserver takes note of the place of this process: boot, namespaces, machine.
// What cannot be read stays unknown, which makes verdicts weaker, never wrong.
func NewObserver(proc procfs.FS) Observer {
	self, _ := Of(proc, 0)
	return Observer{proc: proc, self: self, machine: MachineID(), blind: !countsAsWeDo(proc)}
}

// Self returns the identity of this process.
func (o Observer) Self() ID { return o.self }

// Of returns the identity of a process that is visible here; pid 0 is this one.
// An error says that the process is gone or hidden, or that the mounted /proc is
// that of another pid namespace; parts that cannot be read for other reasons
// stay zero.
func Of(proc procfs.FS, pid int) (ID, error) {
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

// Judge says whether the process id is alive. machine is the machine id that was
// written down with it, empty if none was.
func (o Observer) Judge(id ID, machine string) Verdict {
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
	if stat.State == 'X' || stat.State == 'Z' && !o.otherThreads(id.PID) {
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

// otherThreads is true for a process whose first thread has exited while others
// go on: it shows as a zombie and lives. Where the threads cannot be listed that
// is not excluded.
func (o Observer) otherThreads(pid int) bool {
	threads, err := o.proc.Threads(pid)
	return len(threads) > 1 || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// dead is proven only where the observer counts pids as the writer did.
func (o Observer) dead(why Why, detail string) Verdict {
	return Verdict{Dead, why, detail}
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
