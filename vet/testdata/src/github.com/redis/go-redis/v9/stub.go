// Package redis has the names of a client, for tests.
package redis

import (
	"context"
	"time"
)

type Client struct{}
type Cmd struct{}
type Script struct{}

func (c *Client) SetNX(ctx context.Context, key string, v any, ttl time.Duration) *Cmd { return nil }
func (c *Client) Set(ctx context.Context, key string, v any, ttl time.Duration) *Cmd   { return nil }
func (c *Client) Expire(ctx context.Context, key string, ttl time.Duration) *Cmd       { return nil }
func (c *Client) Del(ctx context.Context, keys ...string) *Cmd                         { return nil }
func (c *Cmd) Err() error                                                              { return nil }
func (s *Script) Run(ctx context.Context, c *Client, keys []string, args ...any) *Cmd  { return nil }
