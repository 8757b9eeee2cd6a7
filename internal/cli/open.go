package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/solehold/solehold"
)

// lockError says where a lock call failed. It is no sign of a holder, and must
// not sound like one.
type lockError struct {
	op   *solehold.OpError
	dir  string
	fsys solehold.Filesystem
}

// Error names the directory, its file system and the errno.
func (e *lockError) Error() string {
	return fmt.Sprintf("%s: the file system (%s, %s on %s) refused the lock: %v%s. Nobody was found to hold it.",
		e.dir, e.fsys.Type, e.fsys.Source, e.fsys.Point, e.op.Err, errnoName(e.op.Err))
}

// Unwrap returns the failure.
func (e *lockError) Unwrap() error { return e.op }

// located adds the file system to the failure of a lock call, and leaves every
// other error as it is.
func located(ctx context.Context, dir string, o *solehold.Options, err error) error {
	var op *solehold.OpError
	if !errors.As(err, &op) || op.Reason != solehold.LockFailed {
		return err
	}
	s, lookErr := solehold.Inspect(ctx, dir, o)
	if lookErr != nil || s.Filesystem.Type == "" {
		return err
	}
	return &lockError{op: op, dir: s.Dir, fsys: s.Filesystem}
}

// openError gives a failed look at a directory the same words and code as `run`
// has for it.
func openError(dir string, err error) error {
	var op *solehold.OpError
	if errors.As(err, &op) {
		return err
	}
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

// inUseError is a directory that has its owner, where that is not what was wanted.
type inUseError struct{ text string }

// Error names the owner.
func (e *inUseError) Error() string { return e.text }
