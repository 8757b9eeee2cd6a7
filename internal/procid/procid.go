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

	"github.com/solehold/solehold/internal/procfs"
)

// ErrNotThisProcess says that the pid belongs to another process now, or to none.
var ErrNotThisProcess = errors.New("the pid belongs to another process now")

// initPIDNS and initTimeNS are the fixed inodes of the first namespaces, which
// see everything (linux/proc_ns.h).
const (
	initPIDNS  = 0xEFFFFFFC
	initTimeNS = 0xEFFFFFFA
)

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
}

// NewObserver takes note of the place of this process: boot, namespaces, machine.
// What cannot be read stays unknown, which makes verdicts weaker, never wrong.
func NewObserver(proc procfs.FS) Observer {
	self, _ := Of(proc, 0)
	return Observer{proc: proc, self: self, machine: MachineID()}
}

// Self returns the identity of this process.
func (o Observer) Self() ID { return o.self }

// Of returns the identity of a process that is visible here; pid 0 is this one.
// An error says that the process is gone or hidden; parts that cannot be read
// for other reasons stay zero.
func Of(proc procfs.FS, pid int) (ID, error) {
	stat, err := proc.Stat(pid)
	if err != nil {
		return ID{}, err
	}
	id := ID{PID: stat.PID, StartTicks: stat.StartTicks}
	id.BootID, _ = proc.BootID()
	// The observer's namespaces, not the process': pid and ticks were read here.
	id.PIDNS, _ = proc.Namespace(0, "pid")
	id.TimeNS, _ = proc.Namespace(0, "time")
	id.PidfsID, _ = pidfsID(stat.PID)
	return id, nil
}

// Judge says whether the process id is alive. machine is the machine id that was
// written down with it, empty if none was.
func (o Observer) Judge(id ID, machine string) Verdict {
	switch {
	case machine != "" && o.machine != "" && machine != o.machine && id.BootID != o.self.BootID:
		return Verdict{Unknown, OtherMachine, "written on another machine"}
	case id.BootID != "" && o.self.BootID != "" && id.BootID != o.self.BootID:
		return Verdict{Dead, OtherBoot, "this machine has booted since"}
	case id.BootID == "" || o.self.BootID == "":
		return Verdict{Unknown, OtherBoot, "the boot is not known"}
	case id.PIDNS != o.self.PIDNS:
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
	number, numberErr := pidfsID(id.PID)
	stat, err := o.proc.Stat(id.PID)
	switch {
	case errors.Is(numberErr, errNoProcess):
		return o.dead(NoSuchProcess, fmt.Sprintf("no process %d", id.PID))
	case errors.Is(numberErr, errThread):
		return o.dead(NotAProcess, fmt.Sprintf("%d is a thread now, not a process", id.PID))
	case err != nil && numberErr == nil && number != 0 && number == id.PidfsID:
		return Verdict{Alive, SameProcess, fmt.Sprintf("pid %d, details hidden", id.PID)}
	case err != nil && number != 0 && id.PidfsID != 0:
		return o.dead(PIDReused, fmt.Sprintf("pid %d is another process now, hidden from this user", id.PID))
	case errors.Is(err, fs.ErrNotExist) && numberErr != nil:
		return Verdict{Unknown, Hidden, fmt.Sprintf("process %d is not visible to this user; that it is gone cannot be proven", id.PID)}
	case err != nil:
		return Verdict{Unknown, Hidden, fmt.Sprintf("process %d is hidden from this user", id.PID)}
	}
	return o.compare(id, stat, number)
}

// compare judges by what is visible under the pid now.
func (o Observer) compare(id ID, stat procfs.Stat, number uint64) Verdict {
	if status, err := o.proc.Status(id.PID); err == nil && status.Tgid != id.PID {
		return o.dead(NotAProcess, fmt.Sprintf("%d is a thread of process %d now", id.PID, status.Tgid))
	}
	if !o.same(id, stat, number) {
		why := PIDReused
		if id.PID == o.self.PID {
			why = OwnPID
		}
		return o.dead(why, fmt.Sprintf("pid %d is another process now: %s", id.PID, describe(o.proc, id.PID)))
	}
	if stat.State == 'X' || stat.State == 'Z' && !o.otherThreads(id.PID) {
		return o.dead(Zombie, fmt.Sprintf("pid %d has exited; its parent, pid %d (%s), has not reaped it yet",
			id.PID, stat.PPID, describe(o.proc, stat.PPID)))
	}
	return Verdict{Alive, SameProcess, fmt.Sprintf("pid %d, same start time, same boot", id.PID)}
}

// same compares the kernel's number where both have one, else the start time,
// which only means the same in one time namespace.
func (o Observer) same(id ID, stat procfs.Stat, number uint64) bool {
	if id.PidfsID != 0 && number != 0 {
		return id.PidfsID == number
	}
	if id.TimeNS != 0 && o.self.TimeNS != 0 && id.TimeNS != o.self.TimeNS {
		return true // cannot be told apart: the weaker claim is that it lives
	}
	return id.StartTicks == stat.StartTicks
}

// otherThreads is true for a process whose first thread has exited while others
// go on: it shows as a zombie and lives.
func (o Observer) otherThreads(pid int) bool {
	threads, err := o.proc.Threads(pid)
	return err == nil && len(threads) > 1
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
