//go:build !linux

package clean

import "errors"

// openState is not written for this system yet.
func openState(string, string) (place, error) { return place{}, errors.ErrUnsupported }
