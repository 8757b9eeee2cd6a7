//go:build !linux || solehold_portable

package supervise

import (
	"errors"

	"github.com/solehold/solehold"
)

// unable is the error of what this system has not.
func unable(what string) error {
	return &solehold.OpError{Op: what, Path: "this system", Reason: solehold.Unsupported, Err: errors.ErrUnsupported}
}
