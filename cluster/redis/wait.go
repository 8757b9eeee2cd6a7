package redis

import (
	"context"
	"time"

	"github.com/solehold/solehold/cluster"
)

// Wait returns when the freeing of the lock is published, or when its claim has run out, which nobody publishes.
func (s *session) Wait(ctx context.Context, held *cluster.HeldError) error {
	sub := s.b.client.Subscribe(ctx, s.b.channel(held.Name))
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		return unknown(ctx, err)
	}
	freed := sub.Channel()
	for {
		left, err := s.b.client.PTTL(ctx, s.b.keys(held.Name)[0]).Result()
		switch {
		case err != nil:
			return unknown(ctx, err)
		case left == -2: // no such key
			return nil
		case left < 0: // one that never runs out
			left = s.ttl
		}
		select {
		case <-freed:
			return nil
		case <-time.After(left + time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
