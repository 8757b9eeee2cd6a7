package cli

import (
	"errors"
	"io/fs"

	"github.com/solehold/solehold"
)

// openError gives a failed look at a directory the same words and code as `run`
// has for it.
func openError(dir string, err error) error {
	var pe *fs.PathError
	if !errors.As(err, &pe) {
		return &solehold.OpError{Path: dir, Reason: solehold.Refused, Err: err}
	}
	reason := solehold.CannotCreate
	if errors.Is(pe.Err, fs.ErrPermission) {
		reason = solehold.NotPermitted
	}
	return &solehold.OpError{Op: pe.Op + " it", Path: pe.Path, Reason: reason, Err: pe.Err}
}
