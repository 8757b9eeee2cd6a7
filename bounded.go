package solehold

import (
	"context"
	"time"
)

// outcome is what a bounded call brought.
type outcome[T any] struct {
	value T
	err   error
}

// call is work that may hang in the file system.
type call[T any] struct {
	path, op string
	timeout  time.Duration
	work     func() (T, error)
	undo     func(T) // for a result that comes too late
}

// bounded runs the work on a goroutine of its own and returns after the timeout
// at the latest; without a timeout it runs the work itself.
func bounded[T any](ctx context.Context, c call[T]) (T, error) {
	if c.timeout < 0 {
		return c.work()
	}
	done := make(chan outcome[T], 1)
	go func() {
		v, err := c.work()
		done <- outcome[T]{v, err}
	}()
	timer := time.NewTimer(c.timeout)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	case <-timer.C:
	}
	select {
	case r := <-done: // both were ready: the result is worth more
		return r.value, r.err
	default:
	}
	go func() {
		if r := <-done; r.err == nil {
			c.undo(r.value)
		}
	}()
	var none T
	return none, unanswered(ctx, c.path, c.op, c.timeout)
}
