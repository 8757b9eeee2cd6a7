//go:build !linux

package journald

import (
	"errors"

	"github.com/solehold/solehold/internal/journal"
)

// Send is for Linux.
func Send(string, string, journal.Event) error { return errors.ErrUnsupported }
