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

func unanswered(dir, op string, o *solehold.Options) error {
	return &solehold.OpError{
		Op: op, Path: dir, Reason: solehold.Unanswered,
		Err: fmt.Errorf("%w within %s", solehold.ErrUnanswered, limit(o)),
	}
}
