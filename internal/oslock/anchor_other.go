//go:build (linux && !solehold_portable) || (!linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows)

package oslock

import "errors"

func tryAnchor(uintptr, string) (Anchor, error) { return Anchor{}, errors.ErrUnsupported }

func anchorHeld(uintptr, string) (bool, error) { return false, errors.ErrUnsupported }

func inherited(uintptr, string) (Anchor, bool) { return Anchor{}, false }

func dropAnchor(uintptr, bool) {}

func checkAnchor(uintptr) error { return errors.ErrUnsupported }
