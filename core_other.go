//go:build !linux

package solehold

import (
	"context"
	"errors"
	"os"
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
func (c *core) setCluster(Cluster) error {
	return errors.ErrUnsupported
}
func (c *core) share() []uintptr      { return nil }
func (c *core) become([]string) error { return errors.ErrUnsupported }
func (c *core) orphan() *Owner        { return nil }
func (c *core) event(Event) error     { return errors.ErrUnsupported }

func (c *core) stateRoot() (*os.Root, error) { return nil, errors.ErrUnsupported }

// pending is not written for this system yet.
type pending struct{}

func requestRelease(_ context.Context, dir string, _ ReleaseRequest, _ Options) (*pending, error) {
	return nil, opError("ask for a release on this system", dir, errors.ErrUnsupported)
}

func sharers(_ context.Context, dir string, _ Options) ([]int, error) {
	return nil, opError("look for holders on this system", dir, errors.ErrUnsupported)
}

func (p *pending) wait(context.Context) error { return errors.ErrUnsupported }
func (p *pending) withdraw() error            { return errors.ErrUnsupported }
func (p *pending) log(Event) error            { return errors.ErrUnsupported }

func (p *pending) request() ReleaseRequest      { return ReleaseRequest{} }
func (p *pending) stateRoot() (*os.Root, error) { return nil, errors.ErrUnsupported }

// attendant is not written for this system yet.
type attendant struct{}

func attend(_ context.Context, dir, _ string, _ Options) (*attendant, error) {
	return nil, opError("take a role on this system", dir, errors.ErrUnsupported)
}

func (a *attendant) log(Event) error              { return errors.ErrUnsupported }
func (a *attendant) stateRoot() (*os.Root, error) { return nil, errors.ErrUnsupported }
func (a *attendant) close() error                 { return errors.ErrUnsupported }

func filesystemOf(dir string) (Filesystem, error) {
	return Filesystem{}, opError("tell the file system on this system", dir, errors.ErrUnsupported)
}
