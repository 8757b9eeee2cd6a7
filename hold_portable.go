//go:build !linux || solehold_portable

package solehold

import (
	"errors"
	"io/fs"
	"runtime"
	"strings"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/oslock"
	"github.com/solehold/solehold/internal/record"
)

// mark keeps others out beside the lock.
type mark = oslock.Anchor

// try takes the lock, places the anchor, and last looks whether the paths still
// lead to both. The anchor is the last word: it excludes by itself, and keeps the
// directory while the lock file is removed. Whoever removes all of .solehold takes
// it away too, which the owner is told as a loss.
// On any error neither lock nor anchor is left.
func (c *claim) try(o Options) error {
	err := oslock.TryLock(c.lock.FD(), oslock.Owner)
	if errors.Is(err, oslock.ErrHeld) {
		// A starter on its way, or somebody who asks, has the lock for a moment.
		if marked, askErr := c.marked(o); askErr == nil && !marked {
			err = errMarked
		}
	}
	if err != nil {
		return err
	}
	c.mark, err = oslock.TryAnchor(c.state.FD(), c.anchorName())
	if errors.Is(err, oslock.ErrHeld) {
		err = errMarked
	}
	if err == nil {
		err = c.inPlace()
	}
	if err != nil {
		c.unlock()
	}
	return err
}

// inPlace returns datadir.ErrMoved where the paths lead elsewhere.
func (c *claim) inPlace() error {
	if err := c.state.Here(); err != nil {
		return err
	}
	return c.state.SameLock(c.lock)
}

// anchorName names the directory to every process of the computer, whatever path
// leads to it.
func (c *claim) anchorName() string {
	return "solehold-" + strings.ReplaceAll(c.dir.Key().String(), ":", "-")
}

// marked asks whether somebody has the anchor.
func (c *claim) marked(o Options) (bool, error) {
	if c.state == nil && runtime.GOOS != "windows" {
		state, err := c.openState(o, false)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		c.state = state
	}
	at := c.dir.FD()
	if c.state != nil {
		at = c.state.FD()
	}
	return oslock.AnchorHeld(at, c.anchorName())
}

// unlock gives up anchor and lock explicitly: a child that another goroutine has
// just forked shares the descriptors until it runs its program, and must not
// keep the directory held for that moment.
func (c *claim) unlock() {
	c.mark.Drop(false)
	oslock.Unlock(c.lock.FD(), oslock.Owner)
}

// shared returns what a child inherits to keep the directory. On Windows that is
// the anchor alone: a lock belongs to one process there.
func (c *claim) shared() []uintptr {
	if runtime.GOOS == "windows" {
		return []uintptr{c.mark.FD()}
	}
	return []uintptr{c.mark.FD(), c.lock.FD()}
}

func (k *core) unlock() {
	if k.shared {
		k.c.mark.Drop(true)
		return
	}
	k.c.unlock()
}

// prove asks whether lock and anchor are still ours and in place. A removed or
// replaced lock file is made anew under the anchor. rewatch says that files
// changed; lost, when not empty, why the lock cannot be proven any more.
func (k *core) prove() (rewatch bool, lost string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closed:
		return false, ""
	case k.c.dir.Gone():
		return false, "the data directory was removed"
	case errors.Is(k.c.state.Here(), datadir.ErrMoved):
		return false, "the state directory was removed or replaced"
	case errors.Is(k.c.mark.Check(), oslock.ErrHeld):
		return false, "the anchor was given up by a process that shares it, and another one has it now"
	case errors.Is(k.c.state.SameLock(k.c.lock), datadir.ErrMoved):
		k.renew()
		return true, ""
	}
	if lost := k.relock(); lost != "" {
		return false, lost
	}
	k.keepRecord()
	k.keepHistory()
	return false, ""
}

// relock takes the lock once more, which changes nothing while it is ours: on
// Windows our own lock is in the way, elsewhere it is granted. If somebody else
// was owner meanwhile the record says so.
func (k *core) relock() (lost string) {
	err := oslock.TryLock(k.c.lock.FD(), oslock.Owner)
	if errors.Is(err, oslock.ErrHeld) && runtime.GOOS != "windows" {
		return "the lock was given up by a process that shares it, and another one has it now"
	}
	if k.succeeded() {
		return "another owner has written its record"
	}
	return ""
}

// succeeded reports whether the record is that of a later owner.
func (k *core) succeeded() bool {
	head, err := record.Newest(readRecord(k.c.lock))
	return err == nil && head.Token > k.rec.Token
}
