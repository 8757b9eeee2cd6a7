// Package supervise runs a command under the lock of its data directory: it
// takes the lock, starts the command so that the directory stays guarded
// whoever of them dies first, passes signals and the terminal on, stops the
// whole tree of processes and not only its first one, and ends as the command
// ended.
package supervise

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/solehold/solehold"
)

// Hold says who keeps the lock while the command runs.
type Hold string

const (
	// HoldTree lets every process of the command's tree keep the lock: the
	// directory is held until the last of them is gone, whatever happens to
	// the wrapper.
	HoldTree Hold = "tree"
	// HoldNone keeps the lock in the wrapper alone.
	HoldNone Hold = "none"
)

// Orphans says what to do about a command whose wrapper was killed.
type Orphans string

const (
	// OrphansRefuse starts nothing beside them.
	OrphansRefuse Orphans = "refuse"
	// OrphansStop stops exactly their tree and starts then.
	OrphansStop Orphans = "stop"
)

// DefaultGrace is the time between the stop signal and SIGKILL.
const DefaultGrace = 30 * time.Second

// DefaultStopSignal asks a command to end.
const DefaultStopSignal = syscall.SIGTERM

// Config is one `solehold run`.
type Config struct {
	// Dir is the data directory.
	Dir string
	// Command is the program and its arguments.
	Command []string
	// Options are those of the lock.
	Options solehold.Options
	// Hold says who keeps the lock; HoldTree by default.
	Hold Hold
	// Orphans says what to do about left-overs; OrphansRefuse by default.
	Orphans Orphans
	// Grace is the time between the stop signal and SIGKILL.
	Grace time.Duration
	// StopSignal is what asks the command to stop; SIGTERM by default.
	StopSignal syscall.Signal
	// Say prints one line for people.
	Say func(format string, args ...any)
}

// End is how the command ended.
type End struct {
	// Code is the exit code where it exited.
	Code int
	// Signal is what killed it; 0 where it exited.
	Signal syscall.Signal
	// Core says that a core was dumped.
	Core bool
	// Keys says that the signal came while the command had the terminal, as from
	// the interrupt or quit key: others in front of that terminal expect it too.
	Keys bool
	// Lost says that the lock was lost, and the command stopped because of it.
	Lost error
}

// String says it in words.
func (e End) String() string {
	switch {
	case e.Signal != 0 && e.Core:
		return "killed by " + SignalName(e.Signal) + ", core dumped"
	case e.Signal != 0:
		return "killed by " + SignalName(e.Signal)
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// CommandError says that the command cannot be run at all: it was never started
// and nothing was taken for it.
type CommandError struct {
	// Command is the program as it was given.
	Command string
	// Err is the reason.
	Err error
}

// Error names the program and the reason.
func (e *CommandError) Error() string {
	err := e.Err
	if errors.Is(err, os.ErrNotExist) {
		return e.Command + ": no such command"
	}
	return e.Command + ": cannot be run: " + err.Error()
}

// Unwrap returns the reason.
func (e *CommandError) Unwrap() error { return e.Err }

// OrphanError says that the command of an earlier run still works in the
// directory without its wrapper and without the lock.
type OrphanError struct {
	// Dir is the data directory.
	Dir string
	// Owner is the process that is left.
	Owner solehold.Owner
}

// Error names the process and the way out.
func (e *OrphanError) Error() string {
	next := "stop it, or run with --orphans=stop"
	if !e.Owner.Proven {
		next = "that it does cannot be proven by this user, so look at it and stop it yourself"
	}
	return fmt.Sprintf("%s: what an earlier run left still works there without the lock: %s; %s", e.Dir, e.Owner, next)
}

// SignalError says that a signal ended the wait for the lock.
type SignalError struct {
	// Signal is the one that came.
	Signal syscall.Signal
}

// Error names the signal.
func (e *SignalError) Error() string {
	return "stopped by " + SignalName(e.Signal) + " before the command was started"
}
