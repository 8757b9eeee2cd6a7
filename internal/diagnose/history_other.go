//go:build !linux

package diagnose

import (
	"errors"
	"os"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
)

// readHistory is not written for this system yet.
func readHistory(string, *solehold.Options) (h journal.History, p journal.Pulse, err error) {
	return h, p, errors.ErrUnsupported
}

// openRoot is not written for this system yet.
func openRoot(string, *solehold.Options) (*os.Root, error) { return nil, errors.ErrUnsupported }

func identity(dir string) (string, func(int) bool) { return dir, func(int) bool { return false } }
