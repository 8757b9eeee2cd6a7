//go:build !linux

package doctor

import (
	"errors"

	"github.com/solehold/solehold"
)

// unable is the error of a question that this system does not answer.
func unable(what string) error {
	return &solehold.OpError{Op: what, Path: "this system", Reason: solehold.Unsupported, Err: errors.ErrUnsupported}
}
