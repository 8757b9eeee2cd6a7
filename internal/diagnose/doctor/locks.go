package doctor

import (
	"cmp"
	"slices"

	"github.com/solehold/solehold/internal/procfs"
)

// lock is one lock that is held, with everybody who shares and awaits it.
type lock struct {
	row     procfs.Lock
	file    *file // nil if nobody visible has it open
	path    string
	mount   procfs.Mount
	holders []holder
	waiters []waiter
}

// holder is a process that keeps the lock by some of its descriptors.
type holder struct {
	pid int
	fds []int
}

// waiter is a process that waits for the lock.
type waiter struct {
	pid   int
	event bool // it sleeps until something happens to the file, and then tries
	row   procfs.Lock
}

// ownByte is the byte that solehold's locks and marks lie on.
const ownByte = 1 << 62

// ours says whether it is a lock or mark of solehold's protocol.
func (l *lock) ours() bool { return l.row.Type == "OFDLCK" && l.row.Start == ownByte }

// lease says whether it is no lock but a promise to be told of opening.
func (l *lock) lease() bool { return l.row.Type == "LEASE" || l.row.Type == "DELEG" }

// pids are the processes that hold it.
func (l *lock) pids() []int {
	var pids []int
	for _, h := range l.holders {
		pids = append(pids, h.pid)
	}
	return pids
}

func (l *lock) heldBy(pid int) bool {
	return slices.ContainsFunc(l.holders, func(h holder) bool { return h.pid == pid })
}

// fdsOf are the descriptors by which a process holds it; none for one that only
// has the file in its memory.
func (l *lock) fdsOf(pid int) []int {
	i := slices.IndexFunc(l.holders, func(h holder) bool { return h.pid == pid })
	if i < 0 {
		return nil
	}
	return l.holders[i].fds
}

func (l *lock) awaitedBy(pid int) bool {
	return slices.ContainsFunc(l.waiters, func(w waiter) bool { return w.pid == pid })
}

// keeper is the holder to name first: the one that was there before the others,
// as a subshell is before the program that it lets wait.
func (h *host) keeper(l *lock) int {
	if len(l.holders) == 0 {
		return 0
	}
	return slices.MinFunc(l.pids(), func(a, b int) int {
		return cmp.Or(cmp.Compare(h.process(a).stat.StartTicks, h.process(b).stat.StartTicks), cmp.Compare(a, b))
	})
}

// same is what the kernel prints alike in its list and in fdinfo.
func same(l procfs.Lock) procfs.Lock {
	l.ID, l.Depth, l.Waiting = 0, 0, false
	return l
}

// join connects the kernel's list with the descriptors.
func (h *host) join(rows []procfs.LockRow, holdings []holding) {
	index := map[procfs.Lock]*lock{}
	for _, row := range rows {
		l := &lock{row: row.Lock}
		for _, w := range row.Waiters {
			l.waiters = append(l.waiters, waiter{pid: w.Lock.PID, row: w.Lock})
		}
		index[same(row.Lock)] = l
		h.locks = append(h.locks, l)
	}
	for _, hold := range holdings {
		l := index[same(hold.Lock)]
		if l == nil {
			if h.first {
				continue // it was let go or taken while we looked
			}
			l = &lock{row: hold.Lock}
			index[same(hold.Lock)] = l
			h.locks = append(h.locks, l)
		}
		l.held(hold.PID, hold.FD)
		h.locate(l, hold)
	}
	for _, l := range h.locks {
		h.counts.Waiters += len(l.waiters)
		if l.file == nil {
			h.byNumber(l)
		}
	}
	h.counts.Locks = len(h.locks)
}

func (l *lock) held(pid, fd int) {
	for i := range l.holders {
		if l.holders[i].pid == pid {
			l.holders[i].fds = append(l.holders[i].fds, fd)
			return
		}
	}
	l.holders = append(l.holders, holder{pid, []int{fd}})
}

// locate finds the file by the descriptor that carries the lock.
func (h *host) locate(l *lock, hold holding) {
	if l.path != "" {
		return
	}
	if l.file = h.files[hold.id]; l.file != nil {
		l.path = l.file.path
	}
	if l.path == "" {
		l.path, _ = h.proc.FDTarget(hold.PID, hold.FD)
	}
	l.mount = h.mounts.byDev[l.row.FileID().Dev]
}

// on says whether the lock lies on a file.
func (l *lock) on(id procfs.FileID) bool {
	if l.file == nil {
		return l.row.FileID() == id
	}
	return l.file.FileID == id
}

// byNumber names a file whose lock nobody visible holds.
func (h *host) byNumber(l *lock) {
	id := l.row.FileID()
	l.mount = h.mounts.byDev[id.Dev]
	if f := h.files[id]; f != nil {
		l.file, l.path = f, f.path
	}
}

// conflict says whether a waiter's request cannot be granted beside a lock.
func conflict(want, held procfs.Lock) bool {
	flock := func(l procfs.Lock) bool { return l.Type == "FLOCK" }
	return want.Inode == held.Inode && want.Major == held.Major && want.Minor == held.Minor &&
		flock(want) == flock(held) && (want.Write || held.Write) &&
		want.Start <= held.End && held.Start <= want.End
}

// rowOf is what the lock of an event-driven waiter would look like.
func rowOf(l procfs.Lock) procfs.Lock {
	l.Write, l.Access, l.Waiting, l.PID = true, "WRITE", true, -1
	return l
}
