//go:build !solehold_portable

package solehold

import (
	"errors"
	"slices"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/oslock"
)

// prove asks the kernel whether mark and lock are still ours and in place. A
// removed or replaced lock file is made anew: the mark was there all the time,
// so nobody else can have become owner. rewatch says that files changed; lost,
// when not empty, why the lock cannot be proven any more.
func (k *core) prove() (rewatch bool, lost string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return false, ""
	}
	if k.c.dir.Gone() {
		return false, "the data directory was removed"
	}
	marked, err := k.has(k.c.dir.FD())
	if err != nil {
		return false, "" // not answered is not lost; the next tick asks again
	}
	if k.joined {
		if !marked {
			return false, "the mark on the directory is gone"
		}
		return false, ""
	}
	locked, err := k.has(k.c.lock.FD())
	moved := errors.Is(k.c.state.SameLock(k.c.lock), datadir.ErrMoved)
	switch {
	case err != nil:
		return false, ""
	case !marked || !locked:
		return false, k.retake(moved)
	case moved:
		k.renew()
		return true, ""
	}
	k.keepRecord()
	k.keepHistory()
	return false, ""
}

// has asks the kernel whether our own description carries the lock or the mark.
// Asking through another description would not tell ours from somebody else's.
func (k *core) has(fd uintptr) (bool, error) {
	info, err := self().proc.FDInfo(0, int(fd))
	return err == nil && slices.ContainsFunc(info.Locks, isOurs), err
}

// retake deals with a lock or mark that is gone: a child that shares the
// descriptors can unlock for everyone. If lock and mark can be had again and
// the record is still ours, nobody was owner in between, since every owner
// writes its record before it begins.
func (k *core) retake(moved bool) (lost string) {
	if moved {
		return "the lock file is gone, and lock or mark were given up by a process that shares them"
	}
	if err := oslock.TryLock(k.c.lock.FD(), oslock.Owner); err != nil {
		return "the lock was given up by a process that shares it, and another one has it now"
	}
	if err := oslock.TryMark(k.c.dir.FD(), oslock.Owner); err != nil {
		return "the mark was given up by a process that shares it, and cannot be had again"
	}
	if !k.alone() {
		k.c.unlock()
		return "the lock was given up by a process that shares it, and another one may have become owner"
	}
	k.noteLocked(Event{Kind: journal.LockRemoved, Detail: "a process that shares the descriptors gave up the lock; taken again before anybody else had it"})
	return ""
}

// alone asks the two questions of every start, and whether the record is ours. A
// foreign mark may be that of a process below us that has joined.
func (k *core) alone() bool {
	marked, err := oslock.Held(k.c.dir.FD(), oslock.Owner)
	if marked {
		var joined bool
		joined, err = k.c.seatTaken()
		marked = !joined
	}
	return err == nil && !marked && k.c.state.SameLock(k.c.lock) == nil && k.recordOurs()
}
