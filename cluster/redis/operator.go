package redis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/solehold/solehold/cluster"
)

// Look reads the keys of a lock. All locks are found by a scan of the server, or of each server of a Cluster.
func (b *Backend) Look(ctx context.Context, name string) ([]cluster.Seen, error) {
	names := []string{name}
	if name == "" {
		var err error
		if names, err = b.names(ctx); err != nil {
			return nil, b.away(ctx, err)
		}
	}
	var all []cluster.Seen
	for _, n := range names {
		s, there, err := b.seen(ctx, n)
		if err != nil {
			return all, b.away(ctx, err)
		}
		if there {
			all = append(all, s)
		}
	}
	return all, nil
}

// seen reads one lock. Its keys lie together, so they can be read at once.
func (b *Backend) seen(ctx context.Context, name string) (s cluster.Seen, there bool, err error) {
	keys := b.keys(name)
	answer, err := b.scripts.look.Run(ctx, b.client, keys).Slice()
	if err != nil || len(answer) != 4 {
		return s, false, errors.Join(err, ctx.Err())
	}
	claim, last := fmt.Sprint(answer[0]), fmt.Sprint(answer[1])
	if claim == "" && last == "" {
		return s, false, nil
	}
	s = cluster.SeenOf(name, keys[0], claim, last)
	if s.Highest, err = strconv.ParseUint(fmt.Sprint(answer[2]), 10, 64); s.Held {
		left, _ := answer[3].(int64)
		s.Token, s.Left = s.Highest, time.Duration(max(left, 0))*time.Millisecond
	}
	return s, true, err
}

// names finds the locks below the prefix.
func (b *Backend) names(ctx context.Context) ([]string, error) {
	head := b.c.Prefix + ":{"
	var mu sync.Mutex
	found := map[string]bool{}
	scan := func(ctx context.Context, c redis.Cmdable) error {
		it := c.Scan(ctx, 0, escapeGlob(head)+"*", 1000).Iterator()
		for it.Next(ctx) {
			text, _, ok := strings.Cut(strings.TrimPrefix(it.Val(), head), "}:")
			if name, err := cluster.UnescapeName(text); ok && err == nil {
				mu.Lock()
				found[name] = true
				mu.Unlock()
			}
		}
		return it.Err()
	}
	var err error
	if c, ok := b.client.(*redis.ClusterClient); ok {
		err = c.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return scan(ctx, c) })
	} else {
		err = scan(ctx, b.client)
	}
	var all []string
	for name := range found {
		all = append(all, name)
	}
	slices.Sort(all)
	return all, err
}

// escapeGlob writes a text so that a pattern of Redis means itself.
func escapeGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(text)
}

// Raise sets the counter of a free lock.
func (b *Backend) Raise(ctx context.Context, name string, above uint64) error {
	if above > math.MaxInt64/2 {
		return fmt.Errorf("redis: %d is too high for a token", above)
	}
	ok, err := b.scripts.raise.Run(ctx, b.client, b.keys(name), strconv.FormatUint(above, 10)).Int()
	if err != nil {
		return unknown(ctx, err)
	}
	if ok == 1 {
		b.note(ctx, name, cluster.LifeOf(cluster.Record{}, above, cluster.Raised))
		return nil
	}
	s, _, err := b.seen(ctx, name)
	if err != nil {
		return unknown(ctx, err)
	}
	return &cluster.HeldError{Name: name, Key: s.Key, Info: s.Info, Token: s.Token, Foreign: s.Foreign}
}

// Break deletes a claim in one script with the word about it.
func (b *Backend) Break(ctx context.Context, name string, token uint64, why string) error {
	if token == 0 { // to the script that is any
		return cluster.ErrNotThere
	}
	claim, err := b.client.Get(ctx, b.keys(name)[0]).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return cluster.ErrNotThere
	case err != nil:
		return unknown(ctx, err)
	}
	beside, err := b.client.Get(ctx, b.keys(name)[1]).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return unknown(ctx, err)
	}
	left, err := cluster.BrokenRecord(claim, beside, why)
	if err != nil {
		return fmt.Errorf("the key %s: %w", b.keys(name)[0], err)
	}
	text := strconv.FormatUint(token, 10)
	n, err := b.scripts.release.Run(ctx, b.client, b.keys(name), claim, text, left, b.channel(name)).Int()
	switch {
	case err != nil:
		return unknown(ctx, err)
	case n == 0:
		return cluster.ErrNotThere
	}
	r, _ := cluster.ParseRecord(left)
	b.note(ctx, name, cluster.LifeOf(r, token, cluster.Broken))
	return nil
}
