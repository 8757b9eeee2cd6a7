package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
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

// AcquireOptions say how one lock is taken.
type AcquireOptions struct {
	// Floor is the highest token that the data has seen. A grant must be above it.
	Floor uint64
	// Wait waits for a holder to let go, as long as the context allows.
	Wait bool
	// OnWait is called when waiting begins and each time that it goes on. It must not block.
	OnWait func(*HeldError)
	// Limit is how long the engine may take to answer the first claim; 0 is without limit. The lock-delay comes after it.
	Limit time.Duration
	// OnDelay is called when the lock is granted and the lock-delay is waited out. It must not block.
	OnDelay func(time.Duration)
	// Info is what others see of the holder of this lock; that of the client by default. No secrets.
	Info string
	// OnAcked is that of [Options] for the lease that this lock hangs on: called before Acquire returns, then with each
	// acknowledgement, and not any more once the holder was told. A client that has lost one lease may have another.
	OnAcked func(sent, ttl time.Duration)
	// FailStop is that of [Options] for this lock alone. It is called besides.
	FailStop func()
}

// limited ends ctx when the limit has passed and answered was not called.
func (o AcquireOptions) limited(ctx context.Context) (limited context.Context, answered func()) {
	if o.Limit <= 0 {
		return ctx, func() {}
	}
	limited, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(o.Limit, func() { cancel(fmt.Errorf("the engine %w within %v", ErrSilent, o.Limit)) })
	return limited, func() { timer.Stop() }
}

// grantTries is how often a lease is asked for, each time for up to TTL/5, by who does not wait. A request that met an
// election may never be answered, and the next one at once.
const grantTries = 3

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

// Acquire takes the lock called name, or tells why not: a *HeldError when somebody else has it. When ctx ends it returns
// at once, also while the engine is silent; what the engine may have done by then is undone in the background.
func (c *Client) Acquire(ctx context.Context, name string, o AcquireOptions) (Lease, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	ctx, answered := o.limited(ctx)
	defer answered()
	var last error
	for grants := 1; ; grants++ {
		s, err := c.current()
		if err != nil {
			return nil, err
		}
		l, err := s.acquire(ctx, name, claimant{o: o, granted: func(delay time.Duration) {
			answered()
			if delay > 0 && o.OnDelay != nil {
				o.OnDelay(delay)
			}
		}})
		var held *HeldError
		switch {
		case err == nil:
			return l, nil
		case errors.Is(err, ErrSilent) && last != nil:
			return nil, fmt.Errorf("%w; %w", err, last)
		case !o.Wait && grants < grantTries && errors.Is(err, errNoLease) && !errors.Is(err, errShort) && ctx.Err() == nil:
			last = err
			continue
		case !o.Wait || ctx.Err() != nil:
			return nil, err
		case !errors.Is(err, errShort) && (errors.Is(err, ErrLate) || errors.Is(err, errNoLease)):
			c.rest(ctx) // the engine was away: try again until the context ends
			continue
		case !errors.As(err, &held) || held.Foreign || held.Sticky:
			return nil, err
		}
		answered()
		if o.OnWait != nil {
			o.OnWait(held)
		}
		if err := s.wait(ctx, held); err != nil {
			return nil, err
		}
	}
}

// rest is a tenth of the time to live, with up to as much again so that clients which lost the engine together do not come
// back together.
func (c *Client) rest(ctx context.Context) {
	d := c.config.TTL / 10
	select {
	case <-time.After(d + mathrand.N(d)):
	case <-ctx.Done():
	}
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
