// Package journal is the history of a data directory: an append-only file of
// one JSON object a line, one write(2) each, that outlives processes and
// reboots. Any process may append at any time; only the holder rotates. A line
// torn by a crash or a full disk is skipped by readers and never joins the next
// one.
//
// Nothing in the file is trusted: readers bound its size and escape what they
// show, and nobody decides anything about a lock by it.
package journal

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
	"unicode/utf8"
)

const (
	// Name is the file of new events; Name+".1" is the youngest rotated one.
	Name = "history.jsonl"
	// MaxSize is the size in bytes from which the holder rotates.
	MaxSize = 1 << 20
	// Keep is how many rotated files stay.
	Keep = 4
	// MaxLine bounds one event in bytes, the newline included.
	MaxLine = 4096
)

// Kind names what happened.
type Kind string

// The kinds of events.
const (
	Acquired         Kind = "acquired"
	ChildStarted     Kind = "child-started"
	Ready            Kind = "ready"
	Health           Kind = "health"
	Restart          Kind = "restart"
	Recovery         Kind = "recovery"
	Incident         Kind = "incident"
	ReleaseRequested Kind = "release-requested"
	Released         Kind = "released"
	Lost             Kind = "lost"
	LockRemoved      Kind = "lock-removed"
	Refused          Kind = "refused"
	Vanished         Kind = "vanished"
	ChildExited      Kind = "child-exited"
	Forced           Kind = "forced"
	Reload           Kind = "reload"
	ClockStep        Kind = "clock-step"
	Moved            Kind = "moved"
)

// How Detail begins of events that readers tell from others of their kind.
const (
	// GivingUp is a Restart that does not come.
	GivingUp = "giving up"
	// OfCluster is an Acquired or Lost of the lock at a cluster's engine, which the
	// holder of the directory has beside it.
	OfCluster = "lock of the cluster"
)

// Kinds lists every kind, in the order of a life.
func Kinds() []Kind {
	return []Kind{
		Acquired, ChildStarted, Ready, Health, Restart, Recovery, Incident, ReleaseRequested, Released,
		Lost, LockRemoved, Refused, Vanished, ChildExited, Forced, Reload, ClockStep, Moved,
	}
}

// Event is one line of history.
type Event struct {
	// Time is the wall clock time, UTC.
	Time time.Time `json:"time"`
	// Seq is the time since boot in nanoseconds: it orders the events of one
	// boot also when the wall clock was stepped.
	Seq int64 `json:"seq"`
	// Boot is the first part of the kernel's boot id: Seq compares within one boot.
	Boot string `json:"boot,omitempty"`
	// Host is the host name, a label only.
	Host string `json:"host,omitempty"`
	// Kind is what happened.
	Kind Kind `json:"kind"`
	// Token is the fencing token the event belongs to, 0 where there is none.
	Token uint64 `json:"token,omitempty"`
	// PID is the process the event is about.
	PID int `json:"pid,omitempty"`
	// Name is that process' name or command.
	Name string `json:"name,omitempty"`
	// UID is that process' user, nil where it is not known.
	UID *int `json:"uid,omitempty"`
	// By is how that process was started.
	By string `json:"by,omitempty"`
	// Detail says more in words.
	Detail string `json:"detail,omitempty"`
	// Status is the exit code of a child-exited event, nil where it has none.
	Status *int `json:"status,omitempty"`
	// Signal is the signal that ended the child.
	Signal string `json:"signal,omitempty"`
	// Class says how a vanished holder went: crash, reboot or unknown.
	Class string `json:"class,omitempty"`
	// More counts like events before this one that were not listed.
	More int `json:"more,omitempty"`
}

// File is what a Log needs of an open history file: opened for appending and
// reading.
type File interface {
	io.Writer
	io.ReaderAt
	// Size returns the length in bytes.
	Size() (int64, error)
}

// Log is a history file that one writer has open.
type Log struct {
	f    File
	size int64 // when it was opened
	torn bool  // it ended inside a line then
}

// Open prepares to append to f.
func Open(f File) (*Log, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	l := &Log{f: f, size: size}
	if size > 0 {
		var last [1]byte
		n, _ := f.ReadAt(last[:], size-1)
		l.torn = n == 1 && last[0] != '\n'
	}
	return l, nil
}

// Full reports whether the holder should rotate.
func (l *Log) Full() bool { return l.size > MaxSize }

// Append writes e as one line with one write. After a torn line, of this writer
// or of one before it, it starts a new one. An error means that the event may
// be missing; nothing else was harmed.
func (l *Log) Append(e Event) error {
	line, err := Encode(e)
	if err != nil {
		return err
	}
	if l.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := l.f.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	l.torn = err != nil
	return err
}

// Encode is an event as one line, its end included, of at most MaxLine bytes: what
// is longer is cut.
func Encode(e Event) ([]byte, error) {
	e.Detail, e.Name, e.By = clip(e.Detail, 700), clip(e.Name, 300), clip(e.By, 150)
	e.Host = clip(e.Host, 64)
	line, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", e.Kind, err)
	}
	if len(line) >= MaxLine { // text that escapes to six times its length
		e.Detail, e.Name, e.By = clip(e.Detail, 200), clip(e.Name, 80), clip(e.By, 80)
		if line, err = json.Marshal(e); err != nil {
			return nil, err
		}
	}
	return append(line, '\n'), nil
}

// clip cuts s to at most n bytes at a character's boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
