package redis

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/solehold/solehold/cluster"
)

// livesKey is the list of the lives of a lock, beside its other keys.
func (b *Backend) livesKey(name string) string {
	return b.c.Prefix + ":{" + cluster.EscapeName(name) + "}:lives"
}

// note adds a life. It is a label: that it cannot be written changes nothing.
func (b *Backend) note(ctx context.Context, name string, l cluster.Life) {
	b.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.RPush(ctx, b.livesKey(name), l.Text())
		p.LTrim(ctx, b.livesKey(name), -2*cluster.LivesKept, -1)
		return nil
	})
}

// Lives reads the list of the lives of a lock.
func (b *Backend) Lives(ctx context.Context, name string) ([]cluster.Life, error) {
	texts, err := b.client.LRange(ctx, b.livesKey(name), 0, -1).Result()
	if err != nil {
		return nil, unknown(ctx, err)
	}
	return cluster.ReadLives(texts), nil
}
