package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/solehold/solehold"
)

// findings runs every check that needs no path.
func (h *host) findings() []Finding {
	return slices.Concat(
		h.deadlocks(), h.queues(), h.aged(), h.stopped(), h.inherited(), h.orphaned(), h.detachedFiles(),
		h.remote(), h.openPlaces(), h.wasted(), h.directories(), h.runFiles(),
	)
}

// held says who holds a lock, for evidence.
func (h *host) held(l *lock) string {
	pid := h.keeper(l)
	if pid == 0 {
		return "no process visible here holds it"
	}
	text := fmt.Sprintf("%s holds it (%s, %s)", h.name(pid), l.row.Type, strings.ToLower(l.row.Access))
	if len(l.fdsOf(pid)) == 0 {
		text += ", without a descriptor: it has the file in its memory, which keeps the lock"
	}
	if n := len(l.holders); n > 1 {
		text += fmt.Sprintf(", and shares it with %s", many(n-1, "process", "processes"))
	}
	return text
}

// parties are the holders of a lock with their descriptors, the first first.
func (h *host) parties(l *lock) []Process {
	first := h.keeper(l)
	var all []Process
	for _, x := range l.holders {
		p := h.show(x.pid, x.fds...)
		if x.pid == first {
			all = slices.Insert(all, 0, p)
			continue
		}
		all = append(all, p)
	}
	return all
}

// awaiting are the waiters of a lock.
func (h *host) awaiting(l *lock) []Process {
	var all []Process
	for _, w := range l.waiters {
		p := h.show(w.pid)
		p.Event = w.event
		all = append(all, p)
	}
	return all
}

// at is the lock's file for people.
func (l *lock) at() string {
	if l.path == "" {
		return fmt.Sprintf("inode %d on device %d:%d", l.row.Inode, l.row.Major, l.row.Minor)
	}
	return l.path
}

// line is one line of evidence, harmless on a terminal.
func line(format string, args ...any) string { return solehold.Printable(fmt.Sprintf(format, args...)) }
