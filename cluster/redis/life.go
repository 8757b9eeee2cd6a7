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

// foundExpired adds the life of a predecessor that nobody has ended, in the background. Its token is the one before.
func (s *session) foundExpired(name, last string, token uint64) {
	l, ok := cluster.LifeBefore(last, token-1, token)
	if !ok {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.ttl/5)
		defer cancel()
		s.b.note(ctx, name, l)
	}()
}

// Lives reads the list of the lives of a lock.
func (b *Backend) Lives(ctx context.Context, name string) ([]cluster.Life, error) {
	texts, err := b.client.LRange(ctx, b.livesKey(name), 0, -1).Result()
	if err != nil {
		return nil, unknown(ctx, err)
	}
	return cluster.ReadLives(texts), nil
}
