//go:build !linux

package diagnose

import (
	"errors"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
)

// readHistory is not written for this system yet.
func readHistory(string, *solehold.Options) (journal.History, error) {
	return journal.History{}, errors.ErrUnsupported
}
