package policy

import "fmt"

// Kind names an input.
type Kind uint8

const (
	// Begin is given once, first.
	Begin Kind = iota
	// LockState is what a look at the lock gave: Lock, Holder, GivenUp. A watch is given one between each [Probe] and its
	// [ProbeResult]; an older one is not used. A run ignores it.
	LockState
	// ProbeResult answers [Probe]: Verdict, Reason.
	ProbeResult
	// ChildStarted answers [Start]: the command has been exec'd, or the launch that a watch ordered has been made.
	ChildStarted
	// ChildReady is the word of the child itself (sd_notify READY=1, Lock.Ready).
	ChildReady
	// Exited is the end of the leader, or with TreeDead of the whole tree: Exit, TreeDead, Rand. It answers [StopTree]
	// too. In a watch it answers [Start] when the launch failed.
	Exited
	// EvidenceDone answers [TakeEvidence], exactly once, however little could be taken.
	EvidenceDone
	// StopRequested is a signal to us, a release that was asked for, a shutdown: Reason.
	StopRequested
	// ClockGap is a suspend, or a prober that did not get to run.
	ClockGap
	// Tick is the time of the last [Wake]. A Tick at another time does no harm.
	Tick
	// Reset is a person's word that failures, backoff and a give-up are forgotten. After a give-up, give [Begin] again.
	Reset
)

// String gives the word used in scripts.
func (k Kind) String() string {
	return word(k, "begin", "lock", "probe", "started", "ready", "exited", "evidence", "stop", "gap", "tick", "reset")
}

// Verdict is what one round of a probe says.
type Verdict uint8

const (
	// Unknown is no verdict: the prober was starved, a name was not resolved, somebody else answered. It counts neither
	// as good nor as failing.
	Unknown Verdict = iota
	// OK is a good answer.
	OK
	// Slow is a good answer that took long. It counts as good and is said once.
	Slow
	// Fail is a bad answer, or none within the timeout.
	Fail
)

// String gives the word used in scripts.
func (v Verdict) String() string { return word(v, "unknown", "ok", "slow", "fail") }

// Lock is the state of the lock as far as a watch must know it.
type Lock uint8

const (
	// LockUnknown cannot be answered. Nothing is started or stopped.
	LockUnknown Lock = iota
	// LockFree has no owner: a start takes it.
	LockFree
	// LockHeld has an owner.
	LockHeld
	// LockDanger is UNGUARDED, SPLIT or DETACHED: a start would make it worse. Nothing is started or stopped.
	LockDanger
)

// String gives the word used in scripts.
func (l Lock) String() string { return word(l, "unknown", "free", "held", "danger") }

// Exit is how a process ended. The zero value is a clean end.
type Exit struct {
	// Code is the exit code; 0 after a signal.
	Code int
	// Signal is the number of the signal that ended it, or 0.
	Signal int
}

// Clean reports code 0 and no signal.
func (e Exit) Clean() bool { return e == Exit{} }

// String gives "code 1" or "signal 9".
func (e Exit) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("signal %d", e.Signal)
	}
	return fmt.Sprintf("code %d", e.Code)
}

// Input is one thing that happened. Only the fields that [Kind] names are read.
type Input struct {
	// Kind says what happened.
	Kind Kind
	// For is the ID of the command that this answers or, for [ChildReady] and [Exited], of the Start or StopTree whose
	// tree it is about. An answer that is not the one awaited is late and is dropped: a result from before a restart
	// must not judge the new life.
	For uint64
	// Verdict is for [ProbeResult].
	Verdict Verdict
	// Lock is for [LockState].
	Lock Lock
	// Holder tells holders apart (the fencing token): failures of one are not held against the next. For [LockState].
	Holder uint64
	// GivenUp says that the memory on disk has a give-up, of a run beside this watch. For [LockState].
	GivenUp bool
	// Exit is for [Exited].
	Exit Exit
	// TreeDead says that no process of the tree is left. Nothing is started before. For [Exited].
	TreeDead bool
	// Taken says that a launch of a watch found the lock held by somebody else: the service is up, and nothing has failed.
	// For [Exited].
	Taken bool
	// Reason is passed on in the Detail of the commands that follow.
	Reason string
	// Rand is uniform in [0,1). It comes from outside so that a run can be replayed. For [Exited] and [ProbeResult].
	Rand float64
}
