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
	"github.com/solehold/solehold/health"
	"github.com/solehold/solehold/internal/policy"
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

// AdoptVerb is the word by which this program is run again between itself and a
// command that is given sockets: they are meant for the process whose pid
// LISTEN_PID names, which only the command's own process can know.
const AdoptVerb = "__adopt"

// Output says how the command's output reaches ours.
type Output string

const (
	// OutputAuto is OutputKeep where probes or restarts are wanted, else OutputPass.
	OutputAuto Output = "auto"
	// OutputPass gives the command our own descriptors. Nothing is kept for
	// evidence but what a regular file still has.
	OutputPass Output = "pass"
	// OutputKeep passes output on through a pipe and keeps its end for evidence.
	// A terminal and a regular file stay the command's own all the same.
	OutputKeep Output = "keep"
)

// Check is one probe of the service and when it is asked.
type Check struct {
	// Probe makes the probe. Commands are to be run by the given runner, which
	// reaps them. It is called with nil to find out whether the probe can be.
	Probe func(health.Runner) (health.Probe, error)
	// Beat, in place of Probe, is how often the command itself must say
	// WATCHDOG=1 (sd_notify(3)).
	Beat time.Duration
	// Schedule says when.
	Schedule policy.Schedule
	// AnyAnswer takes answers of whoever listens there. Without it, an answer from
	// a process that does not belong to the service says nothing about it.
	AnyAnswer bool
}

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
	// Health judges the service for as long as it lives, Startup until it is up
	// for the first time; nil for no probe.
	Health, Startup *Check
	// Policy says what follows from failing probes and from the command's end.
	// Its probes are those of Health and Startup.
	Policy policy.Config
	// Retry forgets earlier failures and a give-up.
	Retry bool
	// UnhealthySignal asks an unhealthy command to end; StopSignal by default.
	UnhealthySignal syscall.Signal
	// Output says how the command's output reaches ours; OutputAuto by default.
	Output Output
	// Reload tells the command of a file that has changed; nil for none.
	Reload *Reload
	// Cluster is a lock over several machines besides; nil for none.
	Cluster *Cluster
	// WithoutCluster goes without where earlier runs had one.
	WithoutCluster bool
	// Started is a descriptor that is told how the first start went, for a watch
	// that launched this; 0 for none.
	Started int
	// Say prints one line for people.
	Say func(format string, args ...any)
}

// Reload is a file whose new content the command is told of by a signal.
type Reload struct {
	// Path is the file.
	Path string
	// Signal tells the command; SIGHUP by default.
	Signal syscall.Signal
	// Check is a command line that gets the new content as its input, and ends with
	// 0 if the command may be told; empty for none.
	Check string
	// LockFile and SumFile are those of reload.Options.
	LockFile, SumFile string
}

// judged reports whether health or restarts are wanted, so that failures are
// remembered.
func (c Config) judged() bool {
	return c.Health != nil || c.Startup != nil || c.Policy.Restart != policy.RestartNo
}

// Judge is what the policy is told of this configuration.
func (c Config) Judge(mode policy.Mode) policy.Config {
	p := c.Policy
	p.Mode = mode
	if c.Health != nil {
		p.HasHealth, p.Health = true, c.Health.Schedule
	}
	if c.Startup != nil {
		p.HasStartup, p.Startup = true, c.Startup.Schedule
	}
	return p
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
	// OOM says that the kernel killed it for want of memory, and how that is known;
	// empty where it did not, or it cannot be proven.
	OOM string
	// Lost says that the lock was lost, and the command stopped because of it.
	Lost error
	// GaveUp says that the command was not started again because it failed too
	// often.
	GaveUp bool
}

// String says it in words.
func (e End) String() string {
	switch {
	case e.OOM != "":
		return "killed by the kernel for want of memory (" + e.OOM + ")"
	case e.Signal != 0 && e.Core:
		return "killed by " + SignalName(e.Signal) + ", core dumped"
	case e.Signal != 0:
		return "killed by " + SignalName(e.Signal)
	}
	return codeText(e.Code)
}

// codeText says an exit code. Windows' own for a process that it ended are known
// by their hexadecimal digits.
func codeText(code int) string {
	const own = 0xC0000000
	n := uint32(code) // as Windows has it, whatever the size of an int is
	if n < own || code < 0 {
		return fmt.Sprintf("exit code %d", code)
	}
	text := fmt.Sprintf("exit code 0x%08x", n)
	switch n {
	case 0xC0000005:
		text += ", access violation"
	case 0xC00000FD:
		text += ", stack overflow"
	case 0xC0000135:
		text += ", a DLL is missing"
	case 0xC0000142:
		text += ", a DLL could not begin"
	case 0xC000013A:
		text += ", ended by Ctrl+C"
	}
	return text
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

// FailuresName is the file that remembers failures, so that a crash loop of the
// wrapper itself is one too, and that a watch does not undo a give-up.
// A watch remembers its own in WatchName.
const (
	FailuresName = "failures.json"
	WatchName    = "watch.json"
)

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

// GivenUpError says that earlier runs of the command failed so often that it is
// not started again by itself.
type GivenUpError struct {
	// Dir is the data directory.
	Dir string
}

// Error names the directory and the way out.
func (e *GivenUpError) Error() string {
	return e.Dir + ": earlier runs failed too often and gave up; nothing was started"
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

// InsideError says that this process belongs to the tree that it was told to
// stop, or to ask.
type InsideError struct {
	// Dir is the data directory.
	Dir string
}

// Error names the directory and the way out.
func (e *InsideError) Error() string {
	return e.Dir + ": this command was started by its owner, and would end itself; run it from elsewhere"
}

// StillHeldError says that a directory is still held after its visible holders
// were stopped, or that none was visible.
type StillHeldError struct {
	// Dir is the data directory.
	Dir string
	// Why says what was seen.
	Why string
}

// Error names the directory and what was seen.
func (e *StillHeldError) Error() string { return e.Dir + " is still held: " + e.Why }
