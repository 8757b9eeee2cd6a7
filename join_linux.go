//go:build !solehold_portable

package solehold

import (
	"os"
	"slices"

	"github.com/solehold/solehold/internal/oslock"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/record"
	"github.com/solehold/solehold/internal/sdnotify"
)

// sit takes the seat and a mark of its own for a process that has the lock's
// description, or has the holder above it.
func (c *claim) sit(rec *record.Record) (bool, error) {
	if !c.ours(rec) || oslock.TryLock(c.lock.FD(), oslock.Seat) != nil {
		return false, nil
	}
	if oslock.TryMark(c.dir.FD(), oslock.Owner) != nil || c.state.SameLock(c.lock) != nil {
		c.rise()
		return false, nil
	}
	return true, nil
}

// seatTaken asks whether somebody has the seat.
func (c *claim) seatTaken() (bool, error) { return oslock.Held(c.lock.FD(), oslock.Seat) }

// rise gives up the seat and the mark.
func (c *claim) rise() {
	oslock.Unlock(c.lock.FD(), oslock.Seat)
	oslock.Unlock(c.dir.FD(), oslock.Owner)
}

// ours reports whether this process or one above it has the lock's description.
func (c *claim) ours(rec *record.Record) bool {
	key, proc := c.lock.Key(), self().proc
	if holdsLock(proc, 0, key) {
		return true
	}
	return slices.ContainsFunc(proc.Ancestors(0), func(p procfs.Stat) bool {
		return p.PID == rec.Holder.PID && p.StartTicks == rec.Holder.StartTicks && holdsLock(proc, p.PID, key)
	})
}

// tellWrapper speaks to the `solehold run` above, if that listens.
func tellWrapper(line string) error {
	name := os.Getenv(NotifyVar)
	if name == "" {
		return os.ErrNotExist
	}
	u, err := sdnotify.Dial(name)
	if err != nil {
		return err
	}
	defer u.Close()
	return u.Say(line)
}
