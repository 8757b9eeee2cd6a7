package procfs

import (
	"fmt"
	"strings"
)

// Status is what /proc/N/status says of a process, as far as it is used here. See proc_pid_status(5).
type Status struct {
	// Tgid is the thread group, which is what programs call the pid; it differs from N if N is a thread.
	Tgid int
	// PPid is the parent; 0 if it is outside of the pid namespace.
	PPid int
	// UID is the real user, who started the process.
	UID uint32
	// EUID is the effective user, whose rights it has.
	EUID uint32
	// GID is the real group.
	GID uint32
	// NSpid is the pid in each nested pid namespace, outermost first as the kernel prints it; the last is what the process
	// takes itself for. Nil where the kernel prints none (before 4.1, or an emulated /proc).
	NSpid []int
	// Caught has a bit for each signal that the process handles itself: signal n is bit n-1.
	Caught uint64
}

// Catches reports whether the process handles a signal itself.
func (s Status) Catches(signal int) bool { return signal > 0 && s.Caught>>(signal-1)&1 == 1 }

// Status reads /proc/N/status. It needs no rights beyond seeing the process.
func (f FS) Status(pid int) (Status, error) {
	return load(f, dir(pid)+"/status", smallLimit, parseStatus)
}

// parseStatus looks up lines by their key. A process cannot forge one: the kernel escapes newlines in its name here.
func parseStatus(text string) (Status, error) {
	p := statusText{text: "\n" + text}
	s := Status{
		Tgid: p.int(p.column("Tgid", 0)),
		PPid: p.int(p.column("PPid", 0)),
		UID:  p.uint32(p.column("Uid", 0), 10),
		EUID: p.uint32(p.column("Uid", 1), 10),
		GID:  p.uint32(p.column("Gid", 0), 10),
	}
	if caught, ok := p.line("SigCgt"); ok {
		s.Caught = p.uint(strings.TrimSpace(caught), 16)
	}
	nested, _ := p.line("NSpid")
	for _, pid := range strings.Fields(nested) {
		s.NSpid = append(s.NSpid, p.int(pid))
	}
	return s, p.in(text)
}

// statusText is the file with a newline put before it, so that each key follows one.
type statusText struct {
	columns
	text string
}

// line returns what follows the key.
func (p *statusText) line(key string) (string, bool) {
	_, after, found := strings.Cut(p.text, "\n"+key+":")
	value, _, _ := strings.Cut(after, "\n")
	return value, found
}

// column returns one column of a line that must be there: a missing Uid read as 0 would make anybody root.
func (p *statusText) column(key string, index int) string {
	value, _ := p.line(key)
	cols := strings.Fields(value)
	if index < len(cols) {
		return cols[index]
	}
	p.note(fmt.Errorf("no %s: %w", key, errColumns))
	return ""
}
