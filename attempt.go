package solehold

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/oslock"
)

const (
	// movedRetries bounds the race with somebody who removes the lock file.
	movedRetries = 64
	// markRetries is how often a directory is tried that carries a foreign mark
	// while its lock is free: two starters that met a removed lock file both
	// see the other's mark, and both must let go before one can win.
	markRetries = 6
)

func acquire(ctx context.Context, dir string, o Options) (*Lock, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	start := time.Now()
	lock, err := acquireOnce(ctx, dir, o)
	var held *HeldError
	if o.Wait == 0 || !errors.As(err, &held) {
		return lock, err
	}
	w := &waiting{dir: dir, o: o, held: held, start: start}
	return w.run(ctx)
}

// acquireOnce tries without waiting for a holder.
func acquireOnce(ctx context.Context, dir string, o Options) (*Lock, error) {
	if e := process.byPath(dir); e != nil {
		return e.again(ctx)
	}
	for {
		r, err := bounded(ctx, call[result]{dir, "take the lock", o.Timeout, func() (result, error) { return attempt(ctx, dir, o) }, result.undo})
		if err != nil || r.busy == nil {
			return r.lock, err
		}
		// Another goroutine of this process is at it: its outcome decides.
		if err := r.busy.settled(ctx, dir, o.Timeout); err != nil {
			return nil, err
		}
		if r.busy.lock != nil {
			return r.busy.again(ctx)
		}
	}
}

// settled waits for the end of another goroutine's acquisition, which may hang.
func (e *entry) settled(ctx context.Context, dir string, timeout time.Duration) error {
	var over <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-over:
		return unanswered(ctx, dir, "take the lock", timeout)
	}
}

// outcome answers a second acquisition if the first has ended.
func (e *entry) outcome(ctx context.Context) (result, error) {
	select {
	case <-e.done:
		if e.lock != nil {
			lock, err := e.again(ctx)
			return result{lock: lock}, err
		}
	default: // e.lock may not be read yet
	}
	return result{busy: e}, nil
}

// again answers a second acquisition of what this process holds.
func (e *entry) again(ctx context.Context) (*Lock, error) {
	if l, ok := ctx.Value(lockOf(e.key)).(*Lock); ok && l == e.lock && l.again() {
		return l, nil
	}
	return nil, &HeldError{Path: e.lock.core.given, Self: true}
}

// result is what one attempt brought: a lock, or the acquisition of another
// goroutine that has to be waited for.
type result struct {
	lock *Lock
	busy *entry
}

func (r result) undo() {
	if r.lock != nil {
		r.lock.Release()
	}
}

// attempt opens the directory, takes the lock and registers it in the table.
func attempt(ctx context.Context, dir string, o Options) (result, error) {
	d, err := openDir(dir, o)
	if err != nil {
		return result{}, err
	}
	e, free := process.reserve(d.Key())
	if !free {
		d.Close()
		return e.outcome(ctx)
	}
	lock, err := attemptOn(ctx, d, e, o)
	process.settle(e, lock, dir)
	return result{lock: lock}, err
}

func openDir(dir string, o Options) (*datadir.Dir, error) {
	d, err := datadir.Open(dir)
	if o.Create && errors.Is(err, fs.ErrNotExist) {
		if err = datadir.Create(dir); err != nil {
			return nil, opError("make the data directory", dir, err)
		}
		d, err = datadir.Open(dir)
	}
	if err != nil {
		return nil, opError("open the data directory", dir, err)
	}
	return d, nil
}

// attemptOn closes d unless it returns a lock.
func attemptOn(ctx context.Context, d *datadir.Dir, e *entry, o Options) (*Lock, error) {
	c, err := seize(d, o)
	if err == nil {
		return newLock(ctx, c, e, o)
	}
	if errors.Is(err, ErrHeld) {
		lock, joinErr := join(ctx, c, e, o)
		switch {
		case lock != nil:
			return lock, nil
		case joinErr != nil:
			err = joinErr
		default:
			c.logRefusal(o)
		}
	}
	c.close()
	return nil, err
}

// seize takes lock and mark of d. It always returns the claim, whose files the
// caller closes; after a *HeldError they serve to wait.
func seize(d *datadir.Dir, o Options) (*claim, error) {
	c := &claim{dir: d}
	if err := c.check(o); err != nil {
		return c, err
	}
	moved, marked := 0, 0
	for {
		err := c.openAndTry(o)
		switch {
		case errors.Is(err, datadir.ErrMoved) && moved < movedRetries:
			moved++
		case errors.Is(err, errMarked) && marked < markRetries:
			marked++
			// Different times, or the two would meet again and again.
			time.Sleep(time.Duration(rand.IntN(1<<marked)) * time.Millisecond / 2)
		case err == nil:
			return c, nil
		case errors.Is(err, oslock.ErrHeld), errors.Is(err, errMarked):
			return c, c.held()
		default:
			return c, c.orHeld(o, err)
		}
		c.closeState()
	}
}

func (c *claim) openAndTry(o Options) error {
	if !c.ready {
		if err := c.open(o); err != nil {
			return err
		}
	}
	return c.try(o)
}

// errMarked says that the lock is free but the directory carries a mark of
// somebody else: its owner's lock file was removed.
var errMarked = errors.New("the directory carries the mark of another owner")

// claim is the open files of one attempt, or of a lock that is held.
type claim struct {
	dir   *datadir.Dir
	state *datadir.State // nil before open
	lock  datadir.File
	class datadir.Class
	ready bool // lock is open
	mark  mark // what keeps others out beside the lock
}

// check refuses what could not be safe.
func (c *claim) check(o Options) error {
	if err := c.dir.Check(); err != nil {
		return opError("use the data directory", c.dir.Given(), err)
	}
	class, err := c.dir.FilesystemClass()
	if err != nil {
		return opError("ask for the file system", c.dir.Given(), err)
	}
	c.class = class
	if o.Strict && class != datadir.Local {
		fsys := c.dir.Filesystem(self().proc)
		return &OpError{Path: c.dir.Given(), Reason: Refused, Err: errors.New("strict: " + fsys.Type + ": " + fsys.Warning)}
	}
	return nil
}

// open opens the state directory and the lock file, making what is missing. What
// is removed again in between is datadir.ErrMoved.
func (c *claim) open(o Options) error {
	state, err := c.openState(o, true)
	if err != nil {
		if o.StateDir == "" && c.removed(err) {
			return datadir.ErrMoved
		}
		return err
	}
	c.state = state
	if c.lock, err = state.OpenLock(true); err != nil {
		if c.removed(err) {
			return datadir.ErrMoved
		}
		return err
	}
	c.ready = true
	return nil
}

// removed says that something below the data directory, which is still there,
// was missing just after it was made.
func (c *claim) removed(err error) bool {
	return errors.Is(err, fs.ErrNotExist) && !c.dir.Gone()
}

func (c *claim) openState(o Options, create bool) (*datadir.State, error) {
	if o.StateDir == "" {
		if paired, err := c.dir.PairedState(); paired != "" || err != nil {
			return c.pairedState(paired, err)
		}
		return c.dir.OpenState(create)
	}
	s, err := c.dir.OpenStateAt(o.StateDir)
	if err != nil {
		return nil, err
	}
	if err := s.Pair(create); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (c *claim) pairedState(path string, err error) (*datadir.State, error) {
	if err != nil {
		return nil, err
	}
	s, err := c.dir.OpenStateAt(path)
	if err != nil {
		return nil, err
	}
	if err := s.Pair(false); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// held is the error of a directory that somebody else has.
func (c *claim) held() *HeldError {
	s, path, again := c.sighting(), c.dir.Path(), Options{Timeout: time.Second}
	if c.state != nil && c.state.Away() {
		again.StateDir = c.state.Path()
	}
	return &HeldError{Path: path, find: func() Owner { return s.named(path, again) }}
}

// orHeld turns a failure into a *HeldError when the mark shows an owner: a
// starter that may not open the lock file, or on a read-only file system, still
// learns that.
func (c *claim) orHeld(o Options, err error) error {
	if marked, markErr := c.marked(o); markErr == nil && marked {
		return c.held()
	}
	return opError("take the lock", filepath.Join(c.dir.Given(), datadir.StateName, datadir.LockName), err)
}

func (c *claim) closeState() {
	if c.ready {
		c.lock.Close()
		c.ready = false
	}
	if c.state != nil {
		c.state.Close()
		c.state = nil
	}
}

func (c *claim) close() {
	c.closeState()
	c.dir.Close()
}
