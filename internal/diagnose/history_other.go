//go:build !linux

package diagnose

import (
	"errors"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
)

// readHistory is not written for this system yet.
func readHistory(string, *solehold.Options) (h journal.History, p journal.Pulse, err error) {
	return h, p, errors.ErrUnsupported
}
