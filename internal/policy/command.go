package policy

import (
	"fmt"
	"strings"
	"time"
)

// Op names a command.
type Op uint8

const (
	// Wake asks for a [Tick] at the time At. It replaces the Wake before it: there is one timer.
	Wake Op = iota
	// Probe runs one round of Which now. A watch looks at the lock too. Answer: [ProbeResult].
	Probe
	// Start starts the child or, in a watch, launches a run. Answer: [ChildStarted] or [Exited].
	Start
	// TakeEvidence looks at the tree before anything is done to it. Answer: [EvidenceDone].
	TakeEvidence
	// StopTree stops the child's tree or, in a watch, the tree of the holder that was proven by the evidence. Answer:
	// [Exited] with TreeDead.
	StopTree
	// MarkReady says that the service serves for the first time in this life.
	MarkReady
	// MarkUnhealthy says that it is alive and fails.
	MarkUnhealthy
	// MarkHealthy says that an unhealthy service answers again by itself.
	MarkHealthy
	// Restarting says that a start follows after Delay.
	Restarting
	// GiveUp says that no start follows; the process ends with a code other than 0. Nothing follows but after [Reset].
	GiveUp
	// End says that all is done: mirror Exit. Nothing follows.
	End
	// Say is a line for the log, once for each stretch of what it is about.
	Say
	// Recovered is the event of a watch that started a service.
	Recovered
)

// String gives the word used in scripts.
func (o Op) String() string {
	return word(o, "wake", "probe", "start", "take-evidence", "stop-tree", "mark-ready", "mark-unhealthy", "mark-healthy",
		"restarting", "give-up", "end", "say", "recovered")
}

// Which tells the two probes apart.
type Which uint8

const (
	// Health is asked for as long as the service lives.
	Health Which = iota
	// Startup is asked until its first success.
	Startup
)

// String gives the word used in scripts.
func (w Which) String() string { return word(w, "health", "startup") }

// Cause is why a command is given. It is data: the sentence for people is the command line's.
type Cause uint8

const (
	// BecauseNone is for commands that need no reason.
	BecauseNone Cause = iota
	// BecauseUnhealthy is FailureThreshold rounds that failed.
	BecauseUnhealthy
	// BecauseDown is the same while nobody holds the lock.
	BecauseDown
	// BecauseAsked is [StopRequested].
	BecauseAsked
	// BecauseLeftover is a leader that ended before its tree.
	BecauseLeftover
	// BecauseCrashed is an end by signal or with a code other than 0.
	BecauseCrashed
	// BecauseFinished is an end with code 0.
	BecauseFinished
	// BecauseBackoff is the rest of a delay that began earlier.
	BecauseBackoff
	// BecauseLimit is a failure score above RestartMax.
	BecauseLimit
	// BecauseGivenUp is a give-up that the memory has.
	BecauseGivenUp
	// BecauseSlow is a good answer that took long.
	BecauseSlow
	// BecauseUnknown is a round without a verdict, or a lock that cannot be judged or is in danger.
	BecauseUnknown
	// BecauseLaunch is a launch by a watch that ended instead of starting: refused, or a command that does not exist.
	BecauseLaunch
	// BecauseHealthy ends a watch with Once: nothing to do.
	BecauseHealthy
	// BecauseStarted ends a watch with Once: it started the service.
	BecauseStarted
	// BecauseReported ends a watch with Once: it took evidence and may not stop the holder.
	BecauseReported
)

// String gives the word used in scripts.
func (c Cause) String() string {
	return word(c, "", "unhealthy", "down", "asked", "leftover", "crashed", "finished", "backoff", "limit", "given-up",
		"slow", "unknown", "launch", "healthy", "started", "reported")
}

// Command is one thing that the shell is to do. Those of one step are done in order, and the memory is saved before a
// [Start], [Restarting], [GiveUp] or [End] is carried out.
type Command struct {
	// Op says what.
	Op Op
	// ID is what the answer's For names. It is the same in the [StopTree] of a run as in its [Start].
	ID uint64
	// Which is for [Probe].
	Which Which
	// At is for [Wake], on the clock of [Machine.Step].
	At time.Duration
	// Delay is for [Restarting].
	Delay time.Duration
	// Exit is for [End] and [GiveUp]: the child's last end. A watch has none.
	Exit Exit
	// Cause is why.
	Cause Cause
	// Detail is the Reason of the input that led here.
	Detail string
}

// String gives the command as scripts have it.
func (c Command) String() string {
	var b strings.Builder
	b.WriteString(c.Op.String())
	switch c.Op {
	case Wake:
		fmt.Fprintf(&b, " %v", c.At)
	case Probe:
		fmt.Fprintf(&b, " %v", c.Which)
	case Restarting:
		fmt.Fprintf(&b, " %v", c.Delay)
	case End, GiveUp:
		fmt.Fprintf(&b, " %v", c.Exit)
	}
	if c.ID != 0 {
		fmt.Fprintf(&b, " #%d", c.ID)
	}
	if c.Cause != BecauseNone {
		fmt.Fprintf(&b, " %v", c.Cause)
	}
	if c.Detail != "" {
		fmt.Fprintf(&b, ": %s", c.Detail)
	}
	return b.String()
}

// word gives the i-th word.
func word[T ~uint8](i T, words ...string) string {
	if int(i) < len(words) {
		return words[i]
	}
	return fmt.Sprintf("%T(%d)", i, uint8(i))
}
