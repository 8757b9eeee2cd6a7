package cluster

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/solehold/solehold/internal/lease"
)

// held is one claim of a shell, and the Lease that its holder sees.
type held struct {
	shell *shell
	id    uint64
	name  string
	nonce string
	since string // a label

	decided chan error    // nil for owned
	killed  chan struct{} // closed when the work must be killed
	free    chan struct{} // closed when nothing is left of the claim
	claimant

	ctx    context.Context
	cancel context.CancelCauseFunc
	lost   atomic.Bool
	frozen atomic.Bool

	// Guarded by shell.mu.
	token   uint64
	owned   bool
	leaving bool
	holder  *HeldError
	last    error // the last answer that said nothing
}

func newHeld(ctx context.Context, s *shell, name, since string) *held {
	h := &held{
		shell: s, name: name, nonce: newNonce(), since: since,
		decided: make(chan error, 1), killed: make(chan struct{}), free: make(chan struct{}),
	}
	h.ctx, h.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	return h
}

// claim gives the claim with a token, which may be 0.
func (h *held) claim(token uint64) Claim { return Claim{Name: h.name, Nonce: h.nonce, Token: token} }

func (h *held) own() { h.decided <- nil }

// acked tells an owner from when its deadlines count.
func (h *held) acked(sent, ttl time.Duration) {
	if h.owned && h.ctx.Err() == nil && h.o.OnAcked != nil {
		h.o.OnAcked(sent, ttl)
	}
}

func (h *held) reject(err error) {
	h.leaving = true
	h.decided <- err
	h.cancel(err)
}

// await waits until the claim is decided.
func (h *held) await(ctx context.Context) (Lease, error) {
	select {
	case err := <-h.decided:
		if err != nil {
			return nil, err
		}
		return h, nil
	case <-ctx.Done():
	}
	h.shell.step(lease.Input{Kind: lease.Cancel, Claim: h.id})
	select {
	case err := <-h.decided: // it may have been decided meanwhile
		if err == nil {
			return h, nil
		}
	default:
	}
	h.shell.mu.Lock()
	last := h.last
	h.shell.mu.Unlock()
	if last != nil {
		return nil, fmt.Errorf("lock %q: %w (the last answer of the engine: %w)", h.name, context.Cause(ctx), last)
	}
	return nil, fmt.Errorf("lock %q: %w", h.name, context.Cause(ctx))
}

// lose tells the holder.
func (h *held) lose(c lease.Cause) {
	h.lost.Store(true)
	h.cancel(&LostError{Name: h.name, Token: h.token, Why: sentence(c)})
}

func sentence(c lease.Cause) string {
	switch c {
	case lease.BecauseUnproven:
		return "the engine has not confirmed the lease for 0.60 of its time to live"
	case lease.BecauseLeaseGone:
		return "the engine does not have the lease any more"
	case lease.BecauseClaimGone:
		return "the claim was removed or taken at the engine"
	case lease.BecauseLeave:
		return "this client is closing"
	}
	return c.String()
}

// Name is the lock.
func (h *held) Name() string { return h.name }

// Token is the fencing token.
func (h *held) Token() uint64 { return h.token }

// Context is cancelled when the holder must stop.
func (h *held) Context() context.Context { return h.ctx }

// Killed is closed when the work must be killed.
func (h *held) Killed() <-chan struct{} { return h.killed }

// Check returns nil while the holder may work. Where its timer is late it does what the timer would have done.
func (h *held) Check() error {
	if h.proven() {
		return nil
	}
	h.shell.step(lease.Input{Kind: lease.Tick})
	if err := context.Cause(h.ctx); err != nil {
		return err
	}
	if h.proven() { // an answer was just being taken
		return nil
	}
	return fmt.Errorf("lock %q: %w", h.name, ErrDoubt)
}

func (h *held) proven() bool {
	return !h.lost.Load() && !h.frozen.Load() && h.ctx.Err() == nil && int64(h.shell.clock.Now()) < h.shell.proven.Load()
}

// Release gives the lock back.
func (h *held) Release(ctx context.Context) error {
	h.shell.mu.Lock()
	h.leaving = true
	h.shell.stepLocked(lease.Input{Kind: lease.Stopped, Claim: h.id})
	h.shell.mu.Unlock()
	h.cancel(context.Canceled)
	select {
	case <-h.free:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("lock %q: the engine has not confirmed the release; it is tried on, and the lease runs out: %w", h.name, context.Cause(ctx))
	}
}
