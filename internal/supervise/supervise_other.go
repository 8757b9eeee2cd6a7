//go:build !linux

package supervise

import (
	"context"
	"errors"
	"io"
	"time"

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

// AgentConn is not written for this system yet.
func AgentConn() (io.ReadWriteCloser, error) { return nil, errors.ErrUnsupported }

// Guard is not written for this system yet.
type Guard struct{}

// NewGuard is not written for this system yet.
func NewGuard(string, string) (*Guard, error) { return nil, errors.ErrUnsupported }

// Watch does nothing.
func (*Guard) Watch(int, uint64, string) error { return errors.ErrUnsupported }

// Stop stops nothing.
func (*Guard) Stop(context.Context, time.Duration) bool { return false }

// Kill kills nothing.
func (*Guard) Kill(context.Context) {}

// Gone knows nothing.
func (*Guard) Gone(context.Context) bool { return false }

// FailStop kills nothing.
func (*Guard) FailStop(context.Context) {}

// Close does nothing.
func (*Guard) Close() {}
