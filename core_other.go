//go:build !linux

package solehold

import (
	"context"
	"errors"
)

// core is not written for this system yet.
type core struct{}

func acquire(_ context.Context, dir string, _ Options) (*Lock, error) {
	return nil, opError("hold the directory on this system", dir, errors.ErrUnsupported)
}

func inspect(_ context.Context, dir string, _ Options) (Status, error) {
	return Status{}, opError("inspect the directory on this system", dir, errors.ErrUnsupported)
}

func (c *core) dirPath() string        { return "" }
func (c *core) filesystem() Filesystem { return Filesystem{} }
func (c *core) abandon() error         { return errors.ErrUnsupported }
func (c *core) release() error         { return errors.ErrUnsupported }
func (c *core) setReady(string) error  { return errors.ErrUnsupported }
func (c *core) setChild(*Child) error  { return errors.ErrUnsupported }
func (c *core) share() []uintptr       { return nil }
func (c *core) become([]string) error  { return errors.ErrUnsupported }
func (c *core) orphan() *Owner         { return nil }
func (c *core) event(Event) error      { return errors.ErrUnsupported }
