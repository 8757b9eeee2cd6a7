// Package redislock has the names of a lock library, for tests.
package redislock

import (
	"context"
	"time"
)

type Lock struct{}

func (l *Lock) Refresh(ctx context.Context, ttl time.Duration, o any) error { return nil }
