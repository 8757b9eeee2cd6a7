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
type mark struct {
	oslock.Anchor
	seat datadir.File
	sits bool // below a holder, whose anchor this is
}

// anchorAlone says that a child can inherit the anchor and not the lock, whose file
// cannot be taken away either.
const anchorAlone = runtime.GOOS == "windows"

// seesHolders is false: a holder is known by its record alone.
const seesHolders = false

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
	c.mark.Anchor, err = oslock.TryAnchor(c.state.FD(), c.anchorName())
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

// keeps returns nil when the anchor covers a lock file made anew, which then lies in
// the directory that carries it, and datadir.ErrMoved else.
func (c *claim) keeps(fresh *claim) error {
	mine, err := c.state.Key()
	there, freshErr := fresh.state.Key()
	if err == nil && freshErr == nil && mine != there {
		return datadir.ErrMoved
	}
	return errors.Join(err, freshErr)
}

// inPlace returns datadir.ErrMoved where the paths lead elsewhere, and errMarked
// where the state lies elsewhere while another owner has it inside.
func (c *claim) inPlace() error {
	if err := c.state.Here(); err != nil {
		return err
	}
	if err := c.state.SameLock(c.lock); err != nil {
		return err
	}
	led, err := c.leadsHere()
	switch {
	case err != nil:
		return err
	case !led && c.state.Away():
		return &datadir.RefusedError{Path: c.dir.Given(), Why: "it does not remember that its state lies in " + c.state.Path() +
			" (it has no extended attributes, or another start has named another place), and would get an owner for each state"}
	case !led:
		return datadir.ErrMoved
	}
	return c.noneInside()
}

// leadsHere reports whether the data directory leads every starter to this state.
// The anchor is on the state, so with two of them it could have two owners; on
// Windows the anchor is the data directory's own.
func (c *claim) leadsHere() (bool, error) {
	if runtime.GOOS == "windows" {
		return true, nil
	}
	known, err := c.dir.PairedState()
	if known == "" || err != nil {
		return !c.state.Away(), err
	}
	mine, err := c.state.Key()
	there, knownErr := datadir.KeyOf(known)
	return mine == there, errors.Join(err, knownErr)
}

// noneInside looks, after the data directory was made to remember a state elsewhere,
// whether somebody began inside before that. Who begins later is led here.
func (c *claim) noneInside() error {
	if runtime.GOOS == "windows" || !c.state.Away() {
		return nil
	}
	inside, err := c.dir.OpenState(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer inside.Close()
	mine, err := c.state.Key()
	there, insideErr := inside.Key()
	if err = errors.Join(err, insideErr); err != nil || mine == there {
		return err
	}
	held, err := oslock.AnchorHeld(inside.FD(), "")
	if err == nil && held {
		return errMarked
	}
	return err
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
	switch {
	case anchorAlone:
		return []uintptr{c.mark.FD()}
	case c.mark.sits:
		return []uintptr{c.mark.FD(), c.mark.seat.FD()}
	}
	return []uintptr{c.mark.FD(), c.lock.FD()}
}

func (k *core) unlock() {
	switch {
	case k.joined:
		k.c.rise()
	case k.shared:
		k.c.mark.Drop(true)
	default:
		k.c.unlock()
	}
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
	case k.strayed():
		return false, "the data directory does not lead to this state any more"
	case errors.Is(k.c.mark.Check(), oslock.ErrHeld):
		return false, "the anchor was given up by a process that shares it, and another one has it now"
	case k.joined:
		return false, "" // lock file, record and history are the wrapper's to keep
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

// strayed reports whether starters are led to another state. What cannot be asked
// counts as before.
func (k *core) strayed() bool {
	led, err := k.c.leadsHere()
	return err == nil && !led
}

// relock takes the lock once more, which changes nothing while it is ours: on
// Windows our own lock is in the way, elsewhere it is granted. Only where nobody had
// it, so that it was given up for us, the record says whether another one was owner
// meanwhile: what somebody writes into it while we hold it means nothing.
func (k *core) relock() (lost string) {
	kept := k.locked()
	err := oslock.TryLock(k.c.lock.FD(), oslock.Owner)
	if errors.Is(err, oslock.ErrHeld) && runtime.GOOS != "windows" {
		return "the lock was given up by a process that shares it, and another one has it now"
	}
	if !kept && k.succeeded() {
		return "the lock was given up by a process that shares it, and another one has written its record"
	}
	return ""
}

// locked asks through a description of its own whether anybody has the lock. What
// cannot be asked counts as kept.
func (k *core) locked() bool {
	f, err := k.c.state.OpenRead(datadir.LockName)
	if err != nil {
		return true
	}
	defer f.Close()
	held, err := oslock.Held(f.FD(), oslock.Owner)
	return held || err != nil
}

// succeeded reports whether the record is that of a later owner.
func (k *core) succeeded() bool {
	head, err := record.Newest(readRecord(k.c.lock))
	return err == nil && head.Token > k.rec.Token
}
