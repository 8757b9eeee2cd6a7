package solehold

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/oslock"
)

// attendant is the files of a role.
type attendant struct {
	dir   string
	o     Options
	c     *claim
	guard datadir.File // its lock is the role
}

func attend(ctx context.Context, dir, role string, o Options) (*attendant, error) {
	a := &attendant{dir: dir, o: o}
	return bounded(ctx, call[*attendant]{
		dir, "take a role there", o.Timeout,
		func() (*attendant, error) { return a, a.failed("take a role there", a.begin(role)) }, func(a *attendant) { a.close() },
	})
}

func (a *attendant) begin(role string) error {
	if a.o.Create {
		if err := os.Mkdir(a.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
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
		a.guard, err = a.c.state.OpenWrite(role)
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

func (a *attendant) timely(op string, work func() error) error {
	_, err := bounded(context.Background(), call[struct{}]{
		a.dir, op, a.o.Timeout, func() (struct{}, error) { return struct{}{}, work() }, func(struct{}) {},
	})
	return a.failed(op, err)
}

func (a *attendant) failed(op string, err error) error {
	if err == nil || errors.Is(err, ErrAttended) || errors.Is(err, ErrUnanswered) {
		return err
	}
	return opError(op, a.dir, err)
}

func (a *attendant) log(e Event) error {
	return a.timely("write the history", func() error {
		f, err := a.c.state.OpenAppend(journal.Name)
		if err != nil {
			return err
		}
		defer f.Close()
		return appendTo(f, stamp(e))
	})
}

func (a *attendant) stateRoot() (root *os.Root, err error) {
	err = a.timely("open the state directory", func() error {
		root, err = a.c.state.Root()
		return err
	})
	return root, err
}

func (a *attendant) close() error {
	err := a.guard.Close()
	a.c.close()
	return err
}
