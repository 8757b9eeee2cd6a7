//go:build !linux || solehold_portable

package supervise

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/solehold/solehold/internal/agent/wire"
)

// agent is for Linux: elsewhere a run with the lock of a cluster is refused, so
// there never is one.
type agent struct {
	granted wire.Message
	c       Cluster
}

func (a *agent) check() error { return nil }

func (a *agent) release(func(string, ...any)) {}

func (a *agent) close() {}

func (r *runner) takeCluster(context.Context) error {
	if r.c.Cluster != nil {
		return unable("hold the lock of a cluster")
	}
	return nil
}

func (r *runner) fromAgent() (heard <-chan wire.Message, due <-chan struct{}) { return nil, nil }

func (r *runner) hear(wire.Message, bool) {}

func (r *runner) deadlineOfAgent() {}

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
