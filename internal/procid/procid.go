// Package procid tells whether a process that was written down is the one that
// has its pid now. A pid alone proves nothing: it is used again, and it means
// another process in another pid namespace. Identity is the pid with its start
// time, the boot, the namespaces it was counted in and, from Linux 6.9 on, the
// kernel's own number of the process that is never used twice. Other systems tell
// the pid, the start time and mostly the boot.
//
// Nothing here sends a signal to ask a question.
package procid

import (
	"errors"
	"time"

	"github.com/solehold/solehold/internal/procfs"
)

// ErrNotThisProcess says that the pid belongs to another process now, or to none.
var ErrNotThisProcess = errors.New("the pid belongs to another process now")

// ID names one process of one boot.
type ID struct {
	// PID is the number in the pid namespace PIDNS.
	PID int
	// StartTicks is the start as the system tells it: in clock ticks since boot, as
	// TimeNS counts (Linux); in microseconds since boot (FreeBSD) or of the wall
	// clock (macOS); the creation time, in 100 ns since 1601 (Windows).
	StartTicks uint64
	// BootID is the kernel's random id of the boot; empty if unknown.
	BootID string
	// PIDNS is the inode of the pid namespace; 0 if unknown.
	PIDNS uint64
	// TimeNS is the inode of the time namespace; 0 if unknown.
	TimeNS uint64
	// PidfsID is the inode of the process' pidfd, 0 where the kernel has none.
	PidfsID uint64
	// Session is the number of the Windows session, whose desktop the process sees.
	Session int
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

// Of returns the identity of a process that is visible here; pid 0 is this one.
// An error says that the process is gone or hidden, or that the mounted /proc is
// that of another pid namespace; parts that cannot be read for other reasons
// stay zero. Systems other than Linux are asked without proc.
func Of(proc procfs.FS, pid int) (ID, error) { return identify(proc, pid) }

// Judge says whether the process id is alive. machine is the machine id that was
// written down with it, empty if none was.
func (o Observer) Judge(id ID, machine string) Verdict { return o.judge(id, machine) }

// Self returns the identity of this process.
func (o Observer) Self() ID { return o.self }

// dead is proven only where the observer counts pids as the writer did.
func (o Observer) dead(why Why, detail string) Verdict {
	return Verdict{Dead, why, detail}
}

// SinceBoot is the time since the system started, on a clock that nobody can
// step and that goes on while the machine sleeps; 0 where there is none.
func SinceBoot() time.Duration { return sinceBoot() }
