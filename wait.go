package solehold

import (
	"context"
	"errors"
	"time"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/oslock"
)

// safetyTick bounds a wait for an event that never comes, e.g. on a file system
// that reports none. It is rare, so that an idle waiter costs nothing.
const safetyTick = 30 * time.Second

// waiting is one call that waits for a directory. It keeps its files open and
// asks again through them: opening and closing would wake every other waiter,
// and itself.
type waiting struct {
	dir   string
	o     Options
	start time.Time
	held  *HeldError // whom it waits for
	mine  *entry     // the holder inside this process, nil for one outside
	claim *claim
	blind time.Duration // how long the last sleep without a holder in sight could be
}

// run tries again whenever something happens to the lock or its holder, until
// the directory is free, o.Wait is over or ctx ends.
func (w *waiting) run(ctx context.Context) (*Lock, error) {
	if w.o.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, w.start.Add(w.o.Wait), errWaited)
		defer cancel()
	}
	var bell *bell
	// Closing an inotify descriptor takes the kernel 10 ms, which the new owner
	// must not wait for.
	defer func() { go bell.close() }()
	last := -1
	for {
		lock, err := w.trySoon(ctx)
		if !errors.As(err, &w.held) {
			return lock, w.end(ctx, err)
		}
		if bell == nil {
			if bell, err = newBell(); err != nil {
				w.claim.close()
				return nil, opError("wait for the lock", w.dir, err)
			}
			bell.follow(w.claim.lockPath())
			continue // what happened before the bell hung was not heard
		}
		if pid := w.held.Holder().PID; pid != last {
			last = pid
			w.o.OnWait(w.held)
		}
		bell.sleep(ctx, w)
		if ctx.Err() != nil {
			w.claim.close()
			return nil, w.end(ctx, context.Cause(ctx))
		}
		bell.follow(w.claim.lockPath())
	}
}

var errWaited = errors.New("waited long enough")

// end names the holder when it was the caller's patience that ended, not the
// caller.
func (w *waiting) end(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || !errors.Is(context.Cause(ctx), errWaited) {
		return err
	}
	return &HeldError{Path: w.held.Path, Self: w.held.Self, Waited: time.Since(w.start), find: w.held.Holder}
}

// trySoon tries a few times in quick succession: the kernel tells of a closed
// file just before it drops its lock.
func (w *waiting) trySoon(ctx context.Context) (lock *Lock, err error) {
	for i := range 3 {
		if i > 0 {
			pause(time.Duration(i*i) * 100 * time.Microsecond)
		}
		lock, err = bounded(ctx, call[*Lock]{w.dir, "take the lock", w.o.Timeout, func() (*Lock, error) { return w.try(ctx) }, func(l *Lock) { l.Release() }})
		if !errors.Is(err, ErrHeld) {
			return lock, err
		}
	}
	return lock, err
}

// try tries once. It keeps the claim only with a *HeldError.
func (w *waiting) try(ctx context.Context) (*Lock, error) {
	if w.claim == nil {
		d, err := openDir(w.dir, w.o)
		if err != nil {
			return nil, err
		}
		w.claim = &claim{dir: d}
		if err := w.claim.check(w.o); err != nil {
			w.claim.close()
			return nil, err
		}
	}
	e, free := process.reserve(w.claim.dir.Key())
	if !free {
		w.mine = e
		return nil, &HeldError{Path: w.dir, Self: true}
	}
	w.mine = nil
	lock, err := w.tryOn(ctx, e)
	process.settle(e, lock, w.dir)
	return lock, err
}

func (w *waiting) tryOn(ctx context.Context, e *entry) (*Lock, error) {
	c := w.claim
	err := c.openAndTry(w.o)
	switch {
	case err == nil:
		return newLock(ctx, c, e, w.o)
	case errors.Is(err, datadir.ErrMoved):
		c.closeState()
		return nil, c.held()
	case errors.Is(err, oslock.ErrHeld), errors.Is(err, errMarked):
		return nil, c.held()
	}
	err = c.orHeld(w.o, err)
	c.closeState()
	if !errors.Is(err, ErrHeld) {
		c.close()
	}
	return nil, err
}

// blindTick bounds a sleep in which no process can be watched. A holder that is
// just ending has closed its files, which was heard, a moment before the kernel
// drops its lock, which is not heard: so ask again soon, then ever more rarely.
func (w *waiting) blindTick(watched bool) time.Duration {
	if watched {
		w.blind = 0
		return safetyTick
	}
	w.blind = min(max(2*w.blind, time.Millisecond), blindest)
	return w.blind
}

func (b *bell) ringWhen(gone, awake <-chan struct{}) {
	select {
	case <-gone:
		b.ring()
	case <-awake:
	}
}
