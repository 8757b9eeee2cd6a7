//go:build !solehold_portable

package solehold

import (
	"context"
	"os"
	"slices"

	"github.com/solehold/solehold/internal/oslock"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/record"
	"github.com/solehold/solehold/internal/sdnotify"
)

// join lets a guarded program run under `solehold run`: the wrapper has the
// lock, and one process of its tree may take the seat beside it. That this
// process belongs to the holder is shown by the kernel, through the inherited
// descriptor or a parent that has the lock; the environment and the record only
// say where to look. The seat and a mark of its own keep others out, also when
// the wrapper dies.
func join(ctx context.Context, c *claim, e *entry, o Options) (*Lock, error) {
	rec := c.wrapped()
	if rec == nil || !c.ours(rec) || oslock.TryLock(c.lock.FD(), oslock.Seat) != nil {
		return nil, nil
	}
	if oslock.TryMark(c.dir.FD(), oslock.Owner) != nil || c.state.SameLock(c.lock) != nil {
		oslock.Unlock(c.dir.FD(), oslock.Owner)
		oslock.Unlock(c.lock.FD(), oslock.Seat)
		return nil, nil
	}
	k := &core{given: c.dir.Given(), o: o, e: e, c: c, dir: c.dir, rec: *rec, joined: true}
	if o.Name != "" {
		k.rec.Name = o.Name
	}
	l := k.newLock(ctx)
	l.token = givenToken(rec)
	k.openHistory()
	k.startWatch()
	return l, nil
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
