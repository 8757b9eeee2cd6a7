// Package doctor explains lock trouble on this host: who holds what, who waits
// for whom, and what is wrong with it. It looks at the processes and at the
// kernel's lists; it takes nothing, changes nothing and signals nobody.
//
// A look is a sample. What is dangerous is looked at a second time before it is
// told, and what could not be read is told as a gap: it makes every answer that
// depends on it less certain.
package doctor

import (
	"fmt"
	"time"

	"github.com/solehold/solehold/internal/procfs"
)

// Severity says how bad a finding is.
type Severity string

// The severities. An outage does not end by itself; a danger can cost data; a
// notice is what an operator would want to know.
const (
	Outage Severity = "outage"
	Danger Severity = "danger"
	Notice Severity = "notice"
)

// Confidence says how far what was seen proves a finding.
type Confidence string

// The confidences.
const (
	Certain  Confidence = "certain"
	Likely   Confidence = "likely"
	Possible Confidence = "possible"
)

// lower is one step less certain.
func (c Confidence) lower() Confidence {
	if c == Certain {
		return Likely
	}
	return Possible
}

// Options say what to look at.
type Options struct {
	// Paths are files or directories of interest; none means the whole host.
	Paths []string
	// PID limits the answer to what concerns one process; 0 means all.
	PID int
	// MaxAge is how long a lock may be held before that is told; 0 means for ever.
	MaxAge time.Duration
	// Timeout bounds the whole look.
	Timeout time.Duration
	// Proc is the /proc to read; the zero value means the one of this host.
	Proc procfs.FS
}

// Process is a process as an answer names it.
type Process struct {
	// PID is its number here.
	PID int `json:"pid"`
	// Command is its command line, for people.
	Command string `json:"command,omitempty"`
	// UID is its user, nil if that is not known.
	UID *uint32 `json:"uid,omitempty"`
	// Unit is its systemd unit.
	Unit string `json:"unit,omitempty"`
	// Container is its container's id.
	Container string `json:"container,omitempty"`
	// Started is when it started.
	Started time.Time `json:"started,omitzero"`
	// State is the kernel's letter for what it does; T is stopped.
	State string `json:"state,omitempty"`
	// FDs are the descriptors in question.
	FDs []int `json:"fds,omitempty"`
	// Event says that it waits without a lock call, as solehold's own waiters do.
	Event bool `json:"event,omitempty"`
}

// Finding is one thing that is wrong, or worth knowing.
type Finding struct {
	// ID is stable: docs/findings has a page for each.
	ID string `json:"id"`
	// Severity says how bad it is.
	Severity Severity `json:"severity"`
	// Confidence says how far it is proven.
	Confidence Confidence `json:"confidence"`
	// Title is the finding in half a line.
	Title string `json:"title"`
	// Path is the file or directory that it is about, empty if there are several.
	Path string `json:"path"`
	// Holders are the processes that it is about.
	Holders []Process `json:"holders"`
	// Waiters are the processes that wait for them.
	Waiters []Process `json:"waiters,omitempty"`
	// Evidence is what was seen, one line each.
	Evidence []string `json:"evidence"`
	// Advice is the next step. It never is to remove a lock file.
	Advice string `json:"advice"`
}

// Gap is what could not be read, and why.
type Gap struct {
	// What was not read.
	What string `json:"what"`
	// Why it was not.
	Why string `json:"why"`
	// Count is how many of it; 0 if that is not known.
	Count int `json:"count,omitempty"`
	// NotRun says that a check that was asked for did not happen at all.
	NotRun bool `json:"not_run,omitempty"`
}

// Subject is what can be said of a path that was asked for, or of a lock of the
// process that was asked for.
type Subject struct {
	// Path is the path.
	Path string `json:"path"`
	// Kind says what it is: lock file, data directory, pid file, …
	Kind string `json:"kind"`
	// State says how it stands: held, not held, HELD, FREE, …
	State string `json:"state,omitempty"`
	// Lock is the type of the lock: FLOCK, POSIX, OFDLCK, LEASE.
	Lock string `json:"lock,omitempty"`
	// Holders hold it.
	Holders []Process `json:"holders,omitempty"`
	// Waiters wait for it.
	Waiters []Process `json:"waiters,omitempty"`
	// Notes say more, one line each.
	Notes []string `json:"notes,omitempty"`
}

// Space is what removed files still occupy on one file system.
type Space struct {
	// Mount is where it is mounted.
	Mount string `json:"mount"`
	// Files counts them.
	Files int `json:"files"`
	// Bytes is the room that they take.
	Bytes int64 `json:"bytes"`
	// Memory says that this is memory, not disk (tmpfs).
	Memory bool `json:"memory,omitempty"`
}

// Counts is how much was looked at.
type Counts struct {
	// Processes that were visible.
	Processes int `json:"processes"`
	// Descriptors of theirs that were listed.
	Descriptors int `json:"descriptors"`
	// Locks that were held.
	Locks int `json:"locks"`
	// Waiters for them.
	Waiters int `json:"waiters"`
}

// Report is the whole answer.
type Report struct {
	// Findings, the worst first.
	Findings []Finding `json:"findings"`
	// Gaps are what could not be read.
	Gaps []Gap `json:"gaps"`
	// Paths are the answers to what was asked for.
	Paths []Subject `json:"paths,omitempty"`
	// Space is what removed files occupy.
	Space []Space `json:"space,omitempty"`
	// Seen is how much was looked at.
	Seen Counts `json:"seen"`
	// Graph is who waits for whom.
	Graph Graph `json:"-"`
}

// Headline says how much was found, and whether all could be seen.
func Headline(findings, gaps int) string {
	found := fmt.Sprintf("%d findings", findings)
	switch {
	case findings == 0 && gaps > 0:
		found = "nothing found in what could be seen"
	case findings == 0:
		found = "no lock trouble found"
	case findings == 1:
		found = "1 finding"
	}
	switch gaps {
	case 0:
		return found
	case 1:
		return found + ", 1 thing could not be read"
	}
	return fmt.Sprintf("%s, %d things could not be read", found, gaps)
}
