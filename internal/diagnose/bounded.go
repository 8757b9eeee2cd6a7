package diagnose

import (
	"context"
	"fmt"
	"time"

	"github.com/solehold/solehold"
)

// limit is how long the file system may take to answer.
func limit(o *solehold.Options) time.Duration {
	if o == nil || o.Timeout <= 0 {
		return solehold.DefaultTimeout
	}
	return o.Timeout
}

// within runs work that may hang in the file system on a goroutine of its own,
// and gives it up after the time, or when ctx ends. Work that was given up may
// go on and must share nothing.
func within[T any](ctx context.Context, most time.Duration, work func() T) (result T, answered bool) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	done := make(chan T, 1)
	go func() { done <- work() }()
	select {
	case result = <-done:
		return result, true
	case <-ctx.Done():
		return result, false
	}
}

// Question is what is asked of a file system that may not answer.
type Question struct {
	// Path is where.
	Path string
	// Op says what, as in solehold.OpError.
	Op string
	// Limit is how long the answer may take; by default solehold.DefaultTimeout.
	Limit time.Duration
}

// Ask runs work within the limit. The error is solehold.ErrUnanswered after it,
// and the cause of ctx when that ends; work that was given up may go on and must
// share nothing.
func Ask[T any](ctx context.Context, q Question, work func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	if q.Limit <= 0 {
		q.Limit = solehold.DefaultTimeout
	}
	r, answered := within(ctx, q.Limit, func() (r result) {
		r.value, r.err = work()
		return r
	})
	switch {
	case answered:
		return r.value, r.err
	case ctx.Err() != nil:
		return r.value, context.Cause(ctx)
	}
	return r.value, &solehold.OpError{
		Op: q.Op, Path: q.Path, Reason: solehold.Unanswered,
		Err: fmt.Errorf("%w within %s", solehold.ErrUnanswered, q.Limit),
	}
}
