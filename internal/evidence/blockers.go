package evidence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/solehold/solehold/internal/procfs"
)

// blockers is who has a lock that somebody waits for.
type blockers struct {
	pids   []int
	hidden int // processes that could not be looked into
	taker  int // who took the lock, where nobody is seen who has it
}

// none reports whether nothing can be said of them.
func (b blockers) none() bool { return len(b.pids) == 0 && b.hidden == 0 && b.taker == 0 }

// blockersOf finds who holds what a thread of pid waits for, by a descriptor.
func (s *scene) blockersOf(pid, fd int) (b blockers) {
	info, err := s.proc.FDInfo(pid, fd)
	if err != nil {
		return b
	}
	row, known := s.blocking(pid, info.Inode)
	held := s.held()
	for _, h := range held.all {
		if h.PID == pid || slices.Contains(b.pids, h.PID) || h.Lock.Inode != info.Inode || known && !same(h.Lock, row) {
			continue
		}
		b.pids = append(b.pids, h.PID)
	}
	if len(b.pids) > 0 {
		return b
	}
	b.hidden = len(held.gaps)
	if known && row.PID > 0 {
		b.taker = row.PID
	}
	return b
}

// blocking is the row of the kernel's table that a process waits behind. The
// takers of OFD locks have no pid there, so for them the file has to do. Outside
// of the first pid namespace the table may not have it.
func (s *scene) blocking(pid int, inode uint64) (procfs.Lock, bool) {
	rows := s.rows()
	i := slices.IndexFunc(rows, func(l procfs.Lock) bool {
		return l.Waiting && l.Inode == inode && (l.PID == pid || l.PID == -1)
	})
	if i < 0 {
		return procfs.Lock{}, false
	}
	j := slices.IndexFunc(rows, func(l procfs.Lock) bool { return !l.Waiting && l.ID == rows[i].ID })
	if j < 0 {
		return procfs.Lock{}, false
	}
	return rows[j], true
}

// same compares a lock that a descriptor carries with a row of the table.
func same(l, row procfs.Lock) bool {
	return l.Type == row.Type && l.Access == row.Access && l.Major == row.Major && l.Minor == row.Minor &&
		l.Inode == row.Inode && l.Start == row.Start && l.End == row.End
}

// awaited is the descriptor of the file whose lock a process waits for, -1 where
// that cannot be told.
func (s *scene) awaited(pid int) int {
	rows := s.rows()
	i := slices.IndexFunc(rows, func(l procfs.Lock) bool { return l.Waiting && l.PID == pid })
	if i < 0 {
		return -1
	}
	fds, _ := s.proc.FDs(pid)
	for _, fd := range fds {
		if info, err := s.proc.FDInfo(pid, fd); err == nil && info.Inode == rows[i].Inode {
			return fd
		}
	}
	return -1
}

// chain tells who has a lock, and what each of them does; met are those who were
// named before it, in the order of their waits.
func (s *scene) chain(b blockers, met []int) string {
	const most = 4
	var names []string
	for _, pid := range b.pids[:min(len(b.pids), most)] {
		names = append(names, fmt.Sprintf("pid %d (%s), which %s", pid, short(s.command(pid)), s.doing(pid, met)))
	}
	switch {
	case len(b.pids) > most:
		names = append(names, fmt.Sprintf("%d more", len(b.pids)-most))
	case len(b.pids) > 0:
	case b.taker != 0:
		names = append(names, fmt.Sprintf("what pid %d (%s) took", b.taker, short(s.command(b.taker))))
	case b.hidden > 0:
		names = append(names, fmt.Sprintf("a process that is not visible here (%d could not be looked into)", b.hidden))
	}
	return strings.Join(names, "; and by ")
}

// doing says what a process does: which lock it waits for itself, else where its
// first thread is.
func (s *scene) doing(pid int, met []int) string {
	const depth = 3 // the waiter, its holder, and that one's holder
	if i := slices.Index(met, pid); i >= 0 {
		return "waits for it in turn: a deadlock"
	}
	met = append(slices.Clone(met), pid)
	st, err := s.proc.Stat(pid)
	if err != nil {
		return "is gone"
	}
	if st.State == 'T' || st.State == 't' || st.State == 'Z' {
		return "is " + stateName(st.State)
	}
	all := s.threadsOf(pid)
	if i := slices.IndexFunc(all, func(w wait) bool { return w.locked }); i >= 0 {
		text := "waits in " + all[i].call + "() for " + all[i].target
		if len(met) < depth && !all[i].blockers.none() {
			text += ", held by " + s.chain(all[i].blockers, met)
		} else if closes := slices.IndexFunc(all[i].blockers.pids, func(p int) bool { return slices.Contains(met, p) }); closes >= 0 {
			text += fmt.Sprintf(", held by pid %d: a deadlock", all[i].blockers.pids[closes])
		}
		return text
	}
	return first(pid, all, st.State)
}

// first says where the first thread of a process is.
func first(pid int, all []wait, state byte) string {
	i := slices.IndexFunc(all, func(w wait) bool { return w.tid == pid })
	switch {
	case i >= 0 && all[i].wchan != "":
		return "waits in " + plain(all[i].wchan)
	case i >= 0 && all[i].call != "":
		return "is in " + all[i].call
	}
	return "is " + stateName(state)
}

// graph is the wait-for graph: who waits for which lock, held by whom.
func (s *scene) graph() (string, error) {
	var b strings.Builder
	for _, w := range s.waiting() {
		if !w.locked {
			continue
		}
		fmt.Fprintf(&b, "pid %d thread %d waits in %s() for %s", w.pid, w.tid, w.call, w.target)
		if w.age > 0 {
			fmt.Fprintf(&b, " since %s", age(w.age))
		}
		b.WriteByte('\n')
		if !w.blockers.none() {
			fmt.Fprintf(&b, "    held by %s\n", s.chain(w.blockers, []int{w.pid}))
		}
	}
	if b.Len() == 0 {
		return "no thread waits for a file lock\n", nil
	}
	return b.String(), nil
}

// locks lists the locks that the processes hold, with everybody who shares them,
// and the kernel's own table.
func (s *scene) locks() (string, error) {
	held := s.held()
	var b strings.Builder
	for _, h := range held.all {
		mark := " "
		if slices.Contains(s.r.PIDs, h.PID) {
			mark = "*"
		}
		target, _ := s.target(h.PID, h.FD)
		fmt.Fprintf(&b, "%s pid %d fd %d  %s %s  %s\n", mark, h.PID, h.FD, h.Lock.Type, h.Lock.Access, target)
	}
	for _, g := range held.gaps {
		fmt.Fprintf(&b, "not read: %v\n", g)
	}
	table, err := s.proc.System("locks")
	fmt.Fprintf(&b, "\n/proc/locks:\n%s", indent(table))
	return b.String(), err
}
