//go:build !never

package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

func renew[C context.Context](ctx C, c *redis.Client, key string) error {
	if err := c.SetNX(ctx, key, "me", time.Minute).Err(); err != nil {
		return err
	}
	return c.Set(ctx, key, "me", time.Minute).Err() // leaselost
}
