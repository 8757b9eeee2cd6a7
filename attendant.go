package solehold

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/oslock"
)

// attendant is the files of a role.
type attendant struct {
	dir   string
	o     Options
	guard datadir.File // its lock is the role

	mu   sync.Mutex // held by every call that uses c
	c    *claim
	over bool
}

// roleSuffix ends the name of a role's file, so that no role is the lock or
// another file of ours.
const roleSuffix = ".role"

func attend(ctx context.Context, dir, role string, o Options) (*attendant, error) {
	if role == "" || strings.Trim(role, "abcdefghijklmnopqrstuvwxyz") != "" {
		return nil, &OpError{Op: "take a role there", Path: dir, Reason: Refused, Err: fmt.Errorf("%q is no word of lower-case letters", role)}
	}
	a := &attendant{dir: dir, o: o}
	return bounded(ctx, call[*attendant]{
		dir, "take a role there", o.Timeout,
		func() (*attendant, error) { return a, a.failed("take a role there", a.begin(role)) }, func(a *attendant) { a.close() },
	})
}

func (a *attendant) begin(role string) error {
	if a.o.Create {
		if err := datadir.Create(a.dir); err != nil {
			return err
		}
	}
	d, err := datadir.Open(a.dir)
	if err != nil {
		return err
	}
	a.c = &claim{dir: d}
	if err = d.Check(); err == nil {
		a.c.state, err = a.c.openState(a.o, true)
	}
	if err == nil {
		a.guard, err = a.c.state.OpenWrite(role + roleSuffix)
	}
	if err != nil {
		a.c.close()
		return err
	}
	if err = oslock.TryLock(a.guard.FD(), oslock.Owner); err != nil {
		a.close()
	}
	if errors.Is(err, oslock.ErrHeld) {
		return ErrAttended
	}
	return err
}

func (a *attendant) failed(op string, err error) error {
	if err == nil || errors.Is(err, ErrAttended) || errors.Is(err, ErrUnanswered) {
		return err
	}
	return opError(op, a.dir, err)
}

// use does a call's work with the files, one after the other.
func use[T any](a *attendant, op string, work func() (T, error), undo func(T)) (T, error) {
	result, err := bounded(context.Background(), call[T]{a.dir, op, a.o.Timeout, func() (none T, err error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.over {
			return none, os.ErrClosed
		}
		return work()
	}, undo})
	return result, a.failed(op, err)
}

func (a *attendant) log(e Event) error {
	_, err := use(a, "write the history", func() (struct{}, error) {
		e = stamp(e)
		a.o.tell(a.c.dir, e)
		f, err := a.c.state.OpenAppend(journal.Name)
		if err != nil {
			return struct{}{}, err
		}
		defer f.Close()
		return struct{}{}, appendTo(f, e)
	}, func(struct{}) {})
	return err
}

func (a *attendant) stateRoot() (*os.Root, error) {
	return use(a, "open the state directory", func() (*os.Root, error) { return a.c.state.Root() }, func(r *os.Root) { r.Close() })
}

// close waits for a call that hangs, as long as any: the numbers of the
// descriptors that it uses must not become others'.
func (a *attendant) close() error {
	_, err := use(a, "give the role back", func() (struct{}, error) {
		a.over = true
		oslock.Unlock(a.guard.FD(), oslock.Owner) // explicitly, for a child that is just being forked
		err := a.guard.Close()
		a.c.close()
		return struct{}{}, err
	}, func(struct{}) {})
	if errors.Is(err, os.ErrClosed) {
		return nil // it is given back
	}
	return err
}
