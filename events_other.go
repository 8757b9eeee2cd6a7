//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package solehold

import (
	"context"
	"errors"
	"time"
)

// On this system no directory can be opened to be held, so that nothing here is
// ever reached.

const blindest = time.Second

type watchID = int

type guardian struct{}

func guards() guardian { return guardian{} }

func (guardian) follow(*watched) []watchID { return nil }

func (guardian) forget([]watchID) {}

func pause(d time.Duration) { time.Sleep(d) }

type bell struct{}

func newBell() (*bell, error) { return nil, errors.ErrUnsupported }

func (*bell) follow(string) {}

func (*bell) close() {}

func (*bell) ring() {}

func (*bell) sleep(context.Context, *waiting) {}
