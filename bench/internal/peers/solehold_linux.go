package peers

import (
	"context"
	"errors"

	"github.com/solehold/solehold"
)

// Solehold is the name of ours, SoleholdSync of ours with its default of waiting
// for the disk, SoleholdDirect of ours on the caller's goroutine, without the
// bound that a file system which hangs needs.
const (
	Solehold     = "solehold"
	SoleholdSync = "solehold, sync"

	SoleholdDirect = "solehold, NoTimeout"
)

func openSolehold(o solehold.Options) func(string) (Lock, error) {
	return func(dir string) (Lock, error) { return &ours{dir: dir, o: o}, nil }
}

type ours struct {
	dir  string
	o    solehold.Options
	lock *solehold.Lock
}

func (l *ours) Try() (err error) {
	if l.lock, err = solehold.Acquire(context.Background(), l.dir, &l.o); errors.Is(err, solehold.ErrHeld) {
		return ErrHeld
	}
	return err
}

func (l *ours) Wait() (err error) {
	o := l.o
	o.Wait = solehold.WaitForever
	l.lock, err = solehold.Acquire(context.Background(), l.dir, &o)
	return err
}

func (l *ours) Drop() error { return l.lock.Release() }
