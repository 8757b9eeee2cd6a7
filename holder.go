package solehold

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/procid"
	"github.com/solehold/solehold/internal/record"
)

// Event is one line of a directory's history.
type Event = journal.Event

// Owner is the process that has a directory, as far as it can be seen from here.
type Owner struct {
	// PID is the owner's process; 0 when no visible process holds the lock.
	PID int `json:"pid"`
	// StartTicks is when that process started, in the system's own unit: clock ticks
	// since boot on Linux.
	StartTicks uint64 `json:"start_ticks,omitempty"`
	// Proven says that this process was seen to have the lock's descriptor open.
	// Other systems than Linux do not show that: there it says that the directory is
	// held and that this process, known by its pid and start time, lives and has
	// written the record without releasing it.
	Proven bool `json:"proven"`
	// Proof lists what was checked: "lock" or "record", "start time", "boot".
	Proof []string `json:"proof,omitempty"`
	// Since is when the directory was acquired; zero if that is not known.
	Since time.Time `json:"since,omitzero"`
	// Name is the name it gave itself.
	Name string `json:"name,omitempty"`
	// Exe is its executable.
	Exe string `json:"exe,omitempty"`
	// Command is its command line.
	Command []string `json:"command,omitempty"`
	// UID is its user, nil if that is not known, and on Windows.
	UID *int `json:"uid,omitempty"`
	// User is the name of that user here; on Windows what the process wrote down.
	User string `json:"user,omitempty"`
	// Host is the host name it wrote down: a label only.
	Host string `json:"host,omitempty"`
	// StartedBy tells how it was started.
	StartedBy string `json:"started_by,omitempty"`
	// Unit is its systemd unit.
	Unit string `json:"unit,omitempty"`
	// Container is its container's id.
	Container string `json:"container,omitempty"`
	// TTY is the device number of the terminal it was started from.
	TTY int `json:"tty,omitempty"`
	// Wrapper is the pid of the `solehold run` above it, 0 without one.
	Wrapper int `json:"wrapper,omitempty"`
	// WrapperGone says that the wrapper has died and its child lives on.
	WrapperGone bool `json:"wrapper_gone,omitempty"`
	// Leftover says that the wrapper's command has ended, too: who has the
	// directory is what that left behind, and nobody may be serving.
	Leftover bool `json:"leftover,omitempty"`
	// Sharing lists the visible processes that have the lock's descriptor, where
	// the owner had to be looked for among them. It is empty where the recorded
	// process proves itself: Sharers lists them in any case.
	Sharing []int `json:"sharing,omitempty"`
	// Notes say what could not be seen, and what is odd.
	Notes []string `json:"notes,omitempty"`

	unnamed bool // the record does not say who it is, which it may in a moment
}

// Visible reports whether a process can be named.
func (o Owner) Visible() bool { return o.PID != 0 }

// String names the owner in half a line.
func (o Owner) String() string {
	if !o.Visible() {
		return "no process visible here holds it: " + strings.Join(o.Notes, "; ")
	}
	b := fmt.Sprintf("pid %d", o.PID)
	if c := CommandLine(o.Command); c != "" {
		b += " (" + c + ")"
	}
	if o.UID != nil {
		b += fmt.Sprintf(", uid %d", *o.UID)
	} else if o.User != "" {
		b += ", user " + o.User
	}
	if !o.Since.IsZero() {
		b += ", since " + o.Since.UTC().Format("15:04:05Z") + ", " + Age(time.Since(o.Since)) + " ago"
	}
	if o.StartedBy != "" {
		b += ", started by " + o.StartedBy
	}
	if o.WrapperGone {
		b += fmt.Sprintf("; its wrapper, pid %d, is gone", o.Wrapper)
	}
	return b
}

// CommandLine joins a command for one line of output: bounded, and with control
// characters replaced, since anybody may choose the text.
func CommandLine(command []string) string {
	const most = 80
	line := Printable(strings.Join(command, " "))
	if r := []rune(line); len(r) > most {
		line = string(r[:most]) + "…"
	}
	return line
}

// Printable replaces what a terminal would obey instead of show.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || unicode.IsPrint(r) {
			return r
		}
		return '?' // controls, also of the direction of writing
	}, s)
}

// Age is a duration as people say it: two units at most.
func Age(d time.Duration) string {
	d = max(d, 0)
	days, hours, minutes := int(d.Hours())/24, int(d.Hours())%24, int(d.Minutes())%60
	switch {
	case days > 0:
		return fmt.Sprintf("%dd%dh", days, hours)
	case hours > 0:
		return fmt.Sprintf("%dh%02dm", hours, minutes)
	case minutes > 0:
		return fmt.Sprintf("%dm%02ds", minutes, int(d.Seconds())%60)
	}
	return fmt.Sprintf("%ds", int(d.Seconds()))
}

func idOf(p record.Process) procid.ID {
	return procid.ID{PID: p.PID, StartTicks: p.StartTicks, BootID: p.BootID, PIDNS: p.PIDNS, TimeNS: p.TimeNS, PidfsID: p.PidfsID, Session: p.Session}
}

func processOf(id procid.ID) record.Process {
	return record.Process{PID: id.PID, StartTicks: id.StartTicks, BootID: id.BootID, PIDNS: id.PIDNS, TimeNS: id.TimeNS, PidfsID: id.PidfsID, Session: id.Session}
}
