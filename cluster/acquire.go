package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// AcquireOptions say how one lock is taken.
type AcquireOptions struct {
	// Floor is the highest token that the data has seen. A grant must be above it, and above that of a holder who was waited
	// for: else the error is [ErrToken].
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

// Acquire takes the lock called name, or tells why not: a *HeldError when somebody else has it. When ctx ends it returns
// at once, also while the engine is silent; what the engine may have done by then is undone in the background.
func (c *Client) Acquire(ctx context.Context, name string, o AcquireOptions) (Lease, error) {
	a, err := c.attempt(ctx, name, o)
	if err != nil {
		return nil, err
	}
	defer a.answered()
	all, err := c.begin(a)
	if err != nil {
		return nil, err
	}
	l, err := all[0].await(a.ctx)
	if err != nil {
		return a.goOn(all[0].shell, err)
	}
	return l, nil
}

// AcquireEach takes several locks, each as Acquire does, with as few requests as the engine allows: etcd gives a hundred in
// one transaction, PostgreSQL all in one statement and Redis in one pipeline; ZooKeeper is asked for each. leases[i] is the
// lock names[i], or errs[i] says why not, so that errors.Join(errs...) is nil if all were taken. It returns when each is
// decided, and gives none back because of another: with o.Wait, callers whose names overlap may wait for each other, so let
// ctx end. A name may be there once.
func (c *Client) AcquireEach(ctx context.Context, names []string, o AcquireOptions) (leases []Lease, errs []error) {
	leases, errs = make([]Lease, len(names)), make([]error, len(names))
	var all []*attempt
	var at []int // where each is in names
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		if seen[name] {
			errs[i] = fmt.Errorf("lock %q is named twice", name)
			continue
		}
		seen[name] = true
		a, err := c.attempt(ctx, name, o)
		if err != nil {
			errs[i] = err
			continue
		}
		defer a.answered()
		all, at = append(all, a), append(at, i)
	}
	if len(all) == 0 {
		return leases, errs
	}
	begun, err := c.begin(all...)
	if err != nil {
		for _, i := range at {
			errs[i] = err
		}
		return leases, errs
	}
	var rest sync.WaitGroup
	for n, h := range begun {
		a, i := all[n], at[n]
		if leases[i], errs[i] = h.await(a.ctx); errs[i] != nil {
			rest.Go(func() { leases[i], errs[i] = a.goOn(h.shell, errs[i]) })
		}
	}
	rest.Wait()
	return leases, errs
}

// attempt is one lock that is to be taken, by as many claims as that needs.
type attempt struct {
	c        *Client
	ctx      context.Context
	answered func() // the limit does not count any more
	name     string
	o        AcquireOptions
	grants   int   // leases that were asked for
	last     error // why there was none
}

func (c *Client) attempt(ctx context.Context, name string, o AcquireOptions) (*attempt, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	ctx, answered := o.limited(ctx)
	return &attempt{c: c, ctx: ctx, answered: answered, name: name, o: o}, nil
}

// begin makes a claim of each, all at once.
func (c *Client) begin(all ...*attempt) ([]*held, error) {
	s, err := c.current()
	if err != nil {
		return nil, err
	}
	claims, now := make([]*held, len(all)), Moment(time.Now())
	for i, a := range all {
		claims[i] = newHeld(a.ctx, s, a.name, now)
		claims[i].claimant = claimant{o: a.o, granted: a.granted}
	}
	s.begin(claims)
	return claims, nil
}

func (a *attempt) granted(delay time.Duration) {
	a.answered()
	if delay > 0 && a.o.OnDelay != nil {
		a.o.OnDelay(delay)
	}
}

// goOn goes on after a claim that was not granted.
func (a *attempt) goOn(s *shell, err error) (Lease, error) {
	for {
		if err = a.again(s, err); err != nil {
			return nil, err
		}
		all, err2 := a.c.begin(a)
		if err2 != nil {
			return nil, err2
		}
		var l Lease
		if l, err = all[0].await(a.ctx); err == nil {
			return l, nil
		}
		s = all[0].shell
	}
}

// again returns nil when another claim is to be made.
func (a *attempt) again(s *shell, err error) error {
	a.grants++
	var held *HeldError
	switch {
	case errors.Is(err, ErrSilent) && a.last != nil:
		return fmt.Errorf("%w; %w", err, a.last)
	case !a.o.Wait && a.grants < grantTries && errors.Is(err, errNoLease) && !errors.Is(err, errShort) && a.ctx.Err() == nil:
		a.last = err
		return nil
	case !a.o.Wait || a.ctx.Err() != nil:
		return err
	case !errors.Is(err, errShort) && (errors.Is(err, ErrLate) || errors.Is(err, errNoLease)):
		a.c.rest(a.ctx) // the engine was away: try again until the context ends
		return nil
	case !errors.As(err, &held) || held.Foreign || held.Sticky:
		return err
	}
	a.answered()
	if a.o.OnWait != nil {
		a.o.OnWait(held)
	}
	a.o.Floor = max(a.o.Floor, held.Token) // an engine that has forgotten this holder gives its token again, while it may work
	return s.wait(a.ctx, held)
}

// rest is a tenth of the time to live, with up to as much again so that clients which lost the engine together do not come
// back together.
func (c *Client) rest(ctx context.Context) {
	d := c.config.TTL / 10
	select {
	case <-time.After(d + rand.N(d)):
	case <-ctx.Done():
	}
}
