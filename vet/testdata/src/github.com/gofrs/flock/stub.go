// Package flock has the names of a lock library, for tests.
package flock

import "context"

type Flock struct{ path string }

func New(path string) *Flock                                       { return &Flock{path} }
func (f *Flock) Path() string                                      { return f.path }
func (f *Flock) Lock() error                                       { return nil }
func (f *Flock) TryLock() (bool, error)                            { return true, nil }
func (f *Flock) Unlock() error                                     { return nil }
func (f *Flock) Close() error                                      { return nil }
func (f *Flock) TryLockContext(context.Context, int) (bool, error) { return true, nil }
