//go:build !linux

package supervise

import (
	"context"
	"errors"

	"github.com/solehold/solehold"
)

// Run is not written for this system yet.
func Run(context.Context, Config) (End, error) { return End{}, errors.ErrUnsupported }

// Exec is not written for this system yet.
func Exec(context.Context, Config) error { return errors.ErrUnsupported }

// Adopt is not written for this system yet.
func Adopt([]string) error { return errors.ErrUnsupported }

// Mirror exits as e says.
func Mirror(e End, _ bool) int { return e.Code }

// ForceRelease is not written for this system yet.
func ForceRelease(context.Context, Force) (Forced, error) { return Forced{}, errors.ErrUnsupported }

// Inside is not written for this system yet.
func Inside(solehold.Owner) bool { return false }

// Run is not written for this system yet.
func (w Watch) Run(context.Context) (Watched, error) { return Watched{}, errors.ErrUnsupported }
