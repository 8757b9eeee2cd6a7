package doctor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/solehold/solehold/internal/procfs"
)

// nameWaiters finds the processes behind waiters that the kernel's list does not
// name: those for OFD locks, and solehold's own, which sleep until something
// happens to the lock file.
func (h *host) nameWaiters() {
	for _, l := range h.locks {
		for i := range l.waiters {
			if l.waiters[i].pid <= 0 {
				l.waiters[i].pid = h.callerOn(l)
			}
		}
		l.waiters = slices.DeleteFunc(l.waiters, func(w waiter) bool { return w.pid <= 0 })
		if l.ours() && l.file != nil && l.file.Type == procfs.Regular {
			h.ownWaiters(l)
		}
	}
}

// callerOn finds a process that sleeps in a lock call on the file of a lock and
// is not among its waiters yet.
func (h *host) callerOn(l *lock) int {
	if l.file == nil {
		return 0
	}
	for _, pid := range l.file.users() {
		if l.awaitedBy(pid) || l.heldBy(pid) && !h.shares(l, pid) {
			continue
		}
		if h.inLockCall(pid) {
			return pid
		}
	}
	return 0
}

// shares says whether a process that holds a lock has the file open a second time.
func (h *host) shares(l *lock, pid int) bool {
	i := slices.IndexFunc(l.holders, func(x holder) bool { return x.pid == pid })
	return len(l.file.fdsOf(pid)) > len(l.holders[i].fds)
}

// inLockCall says whether a thread of the process sleeps in the kernel's waiting
// for locks. The name of the function needs fewer rights than the call's number.
func (h *host) inLockCall(pid int) bool {
	threads, err := h.proc.Threads(pid)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(threads, func(tid int) bool {
		text, err := h.proc.Text(pid, "task/"+strconv.Itoa(tid)+"/wchan")
		return err == nil && (strings.Contains(text, "lock_inode_wait") || strings.Contains(text, "setlk"))
	})
}

// ownWaiters finds processes that have the lock file open without its lock, and
// watch it.
func (h *host) ownWaiters(l *lock) {
	for _, pid := range l.file.users() {
		if l.heldBy(pid) || l.awaitedBy(pid) || !h.watches(pid, l.row.FileID()) {
			continue
		}
		l.waiters = append(l.waiters, waiter{pid: pid, event: true, row: rowOf(l.row)})
		h.counts.Waiters++
	}
}

// watches says whether a process has an inotify watch on a file.
func (h *host) watches(pid int, id procfs.FileID) bool {
	fds, err := h.proc.FDs(pid)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(fds, func(fd int) bool {
		if target, err := h.proc.FDTarget(pid, fd); err != nil || target != "anon_inode:inotify" {
			return false
		}
		watches, err := h.proc.Watches(pid, fd)
		return err == nil && slices.ContainsFunc(watches, func(w procfs.Watch) bool { return w.FileID == id })
	})
}
