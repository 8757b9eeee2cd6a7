package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/solehold/solehold/internal/lease"
)

// Options say how a client keeps its lease.
type Options struct {
	// TTL is the time to live; by default 15 s. What the engine grants counts.
	TTL time.Duration
	// Grace is how long the work may take from being told to being killed: at most TTL/5.
	Grace time.Duration
	// Delay is the lock-delay: how long an owner waits when its predecessor did not release cleanly. By default TTL/5, at
	// least 2 s. Every member should have the same; the longer of the predecessor's and one's own counts.
	Delay time.Duration
	// Info is what others see of this holder. No secrets.
	Info string
	// Clock is by default SystemClock.
	Clock Clock
	// OnFreeze is called when a lock of this name is in doubt, and when that has ended. Where the work can be frozen
	// (cgroup.freeze) do so. It must not block.
	OnFreeze func(name string, frozen bool)
	// OnAcked is called when the engine has acknowledged the lease or a renewal that was sent at this time of the clock, with
	// the time to live that counts from there. It must not block. Who keeps the same deadlines elsewhere, as the program
	// does that started this one, needs no more than these two.
	OnAcked func(sent, ttl time.Duration)
	// FailStop is called when a lock was not released although its time is over: end this process and all that it can.
	// It must not block. By default nothing more happens than that Killed was closed.
	FailStop func(name string, token uint64)
}

// DefaultTTL is the time to live by default.
const DefaultTTL = 15 * time.Second

// Client takes locks with one lease for all of them, which it asks for when it is first needed, and anew when it was lost.
type Client struct {
	backend Backend
	o       Options
	config  lease.Config

	mu     sync.Mutex
	shell  *shell // the present one; it may be over
	closed bool
}

// New makes a client. It does not speak to the engine yet. The client owns the backend, and closes it.
func New(b Backend, o Options) (*Client, error) {
	if o.TTL == 0 {
		o.TTL = DefaultTTL
	}
	if o.Clock == nil {
		o.Clock = SystemClock()
	}
	if o.OnFreeze == nil {
		o.OnFreeze = func(string, bool) {}
	}
	if o.OnAcked == nil {
		o.OnAcked = func(time.Duration, time.Duration) {}
	}
	if o.FailStop == nil {
		o.FailStop = func(string, uint64) {}
	}
	c, err := o.config().Complete()
	if err != nil {
		return nil, err
	}
	c.NoVerify = b.Traits().RenewLooks
	return &Client{backend: b, o: o, config: c}, nil
}

func (o Options) config() lease.Config {
	return lease.Config{TTL: o.TTL, Grace: o.Grace, Delay: o.Delay}
}

// check refuses what cannot work, with the sum.
func (o Options) check() error {
	_, err := o.config().Complete()
	return err
}

// current gives a shell that is not over.
func (c *Client) current() (*shell, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	if c.shell == nil || c.shell.isOver() {
		s, err := newShell(c)
		if err != nil {
			return nil, err
		}
		c.shell = s
	}
	return c.shell, nil
}

// Close tells the holders, gives the lease back when they have released, and closes the backend. When ctx ends first it
// returns, and the lease runs out by itself: it is not renewed any more, and who still works then meets each of its
// deadlines.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	s := c.shell
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	if again {
		return nil
	}
	if s == nil {
		return c.backend.Close()
	}
	s.step(lease.Input{Kind: lease.Leave})
	var err error
	select {
	case <-s.done:
	case <-ctx.Done():
		err = fmt.Errorf("the lease was not given back and runs out by itself: %w", context.Cause(ctx))
		s.cancel() // what is asked of the engine; the timer goes on
	}
	return errors.Join(err, c.backend.Close())
}

// newNonce gives a text that nobody else has.
func newNonce() string { return rand.Text() }
