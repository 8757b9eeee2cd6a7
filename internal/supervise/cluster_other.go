//go:build !linux || solehold_portable

package supervise

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/solehold/solehold/internal/agent/wire"
)

// agent is nil on systems where runs have no lock of a cluster.
type agent struct {
	c       Cluster
	granted wire.Message
}

func (*agent) check() error                 { return nil }
func (*agent) release(func(string, ...any)) {}

func (r *runner) takeCluster(context.Context) error                 { return nil } // able has refused it
func (r *runner) fromAgent() (<-chan wire.Message, <-chan struct{}) { return nil, nil }
func (r *runner) hear(wire.Message, bool)                           {}
func (r *runner) deadlineOfAgent()                                  {}
func (r *runner) heed()                                             {}

// AgentConn is not written for this system yet.
func AgentConn() (io.ReadWriteCloser, error) { return nil, errors.ErrUnsupported }

// ForgetSticky is not written for this system yet.
func ForgetSticky(string, string, string) error { return errors.ErrUnsupported }

// AgentListener is not written for this system yet.
type AgentListener struct{}

// ListenAgent is not written for this system yet.
func ListenAgent(string, int) (*AgentListener, error) { return nil, errors.ErrUnsupported }

// Accept accepts nobody.
func (*AgentListener) Accept() (*AgentPeer, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*AgentListener) Close() error { return nil }

// AgentPeer is nobody here.
type AgentPeer struct{ io.ReadWriteCloser }

// UID is that of nobody.
func (*AgentPeer) UID() uint32 { return ^uint32(0) }

// NewGuard is not written for this system yet.
func (*AgentPeer) NewGuard(string, string) (*Guard, error) { return nil, errors.ErrUnsupported }

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
