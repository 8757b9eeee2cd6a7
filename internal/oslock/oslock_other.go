//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package oslock

import "errors"

func tryLock(uintptr, Byte, bool) error { return errors.ErrUnsupported }

func unlock(uintptr, Byte) error { return errors.ErrUnsupported }

func held(uintptr, Byte) (bool, error) { return false, errors.ErrUnsupported }
