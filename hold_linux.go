//go:build !solehold_portable

package solehold

import "github.com/solehold/solehold/internal/oslock"

// mark needs nothing of its own on Linux: it is on the directory's descriptor.
type mark struct{}

// anchorAlone is false: lock and mark are inherited together.
const anchorAlone = false

// seesHolders says that /proc shows who has a lock.
const seesHolders = true

// try takes the lock, places the mark, then looks whether somebody else has a
// mark, and last whether the lock's path still leads to this file. In this order
// two owners, and a token that was given before, are impossible even while the
// lock file is removed between any two steps: docs/protocol.md has the argument,
// and internal/model searches every order.
// On any error neither lock nor mark is left.
func (c *claim) try(_ Options) error {
	if err := oslock.TryLock(c.lock.FD(), oslock.Owner); err != nil {
		return err
	}
	err := oslock.TryMark(c.dir.FD(), oslock.Owner)
	if err == nil {
		err = c.unmarked()
	}
	if err == nil {
		err = c.state.SameLock(c.lock)
	}
	if err != nil {
		c.unlock()
	}
	return err
}

func (c *claim) unmarked() error {
	marked, err := oslock.Held(c.dir.FD(), oslock.Owner)
	if err == nil && marked {
		return errMarked
	}
	return err
}

// unlock gives up lock and mark explicitly: a child that another goroutine has
// just forked shares the descriptors until it runs its program, and must not
// keep the directory held for that moment.
func (c *claim) unlock() {
	oslock.Unlock(c.dir.FD(), oslock.Owner)
	oslock.Unlock(c.lock.FD(), oslock.Owner)
}

// keeps says that the mark covers a lock file made anew: it is on the directory.
func (c *claim) keeps(*claim) error { return nil }

// marked asks whether somebody else has a mark. It takes nothing.
func (c *claim) marked(Options) (bool, error) { return oslock.Held(c.dir.FD(), oslock.Owner) }

// shared returns the descriptors that keep the directory held.
func (c *claim) shared() []uintptr { return []uintptr{c.dir.FD(), c.lock.FD()} }

func (k *core) unlock() {
	switch {
	case k.joined:
		k.c.rise()
	case !k.shared:
		k.c.unlock()
	}
}
