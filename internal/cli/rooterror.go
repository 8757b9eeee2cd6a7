package cli

import (
	"errors"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/dataroot"
	"github.com/spf13/cobra"
)

// refusedRoot is a root that is not made or used because that would not be safe.
type refusedRoot struct {
	err  error
	next string
}

func (e *refusedRoot) Error() string { return e.err.Error() }

func (e *refusedRoot) Unwrap() error { return e.err }

// rootError gives an error of a data root, if there is one, its code and the next
// step.
func rootError(cmd *cobra.Command, base string, err error) error {
	var name *dataroot.NameError
	var bad *dataroot.BaseError
	var pinned *dataroot.PinnedError
	var place *dataroot.PlaceError
	var held *solehold.HeldError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &name):
		return usage(cmd, "%v", err)
	case errors.As(err, &bad):
		return &refusedRoot{err, "name a directory that only its owner writes to"}
	case errors.As(err, &pinned):
		return &refusedRoot{err, "mount that disk; if the root was moved on purpose or is to begin anew here, solehold root new --adopt"}
	case errors.As(err, &place):
		return &refusedRoot{err, "take another base, or leave out --strict"}
	case errors.Is(err, dataroot.ErrStranger):
		return &refusedRoot{err, "take another name, or move what is there"}
	case errors.As(err, &held):
		return &inUseError{held.Error()}
	}
	return openError(base, err)
}
