package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold/cluster"
)

// Examine asks the server that takes the claims. What the Sentinels and the other nodes of a Cluster say is not asked.
func (b *Backend) Examine(ctx context.Context) cluster.Health {
	s := cluster.Server{Address: strings.Join(b.c.Addrs, ",")}
	text, err := b.client.Info(ctx, "server", "replication", "persistence", "memory").Result()
	if err != nil {
		s.Err = unknown(ctx, err).Error()
		return cluster.Health{Servers: []cluster.Server{s}}
	}
	var h cluster.Health
	info := parseInfo(text)
	number := func(key string) int64 {
		n, _ := strconv.ParseInt(info[key], 10, 64)
		return n
	}
	s.Version, s.Role = info["redis_version"], info["role"]
	s.Used, s.Limit = number("used_memory"), number("maxmemory")
	s.Up = time.Duration(number("uptime_in_seconds")) * time.Second
	if s.Role == "slave" {
		h.Blocked = append(h.Blocked, "it is a replica, which takes no writes: name the master, or Sentinels with master=NAME")
	}
	if policy := info["maxmemory_policy"]; s.Limit > 0 && policy != "noeviction" {
		h.Forgets = append(h.Forgets, fmt.Sprintf("maxmemory-policy is %.30s: a claim may be evicted while its owner works; use noeviction", policy))
	}
	h.Forgets = append(h.Forgets, b.durable(ctx, info, &h)...)
	if at, err := b.client.Time(ctx).Result(); err == nil {
		s.Skew = time.Until(at).Round(time.Millisecond)
	}
	if h.Latency, err = cluster.Fastest(func() error { return b.client.Ping(ctx).Err() }); err != nil {
		h.Unread = append(h.Unread, fmt.Sprintf("how fast it is: %v", unknown(ctx, err)))
	}
	h.Servers = []cluster.Server{s}
	return h
}

// durable says what a restart of the server would lose.
func (b *Backend) durable(ctx context.Context, info map[string]string, h *cluster.Health) []string {
	if info["aof_enabled"] != "1" {
		return []string{"appendonly is off: a restart loses claims and tokens; use appendonly yes and appendfsync always"}
	}
	all, err := b.client.ConfigGet(ctx, "appendfsync").Result()
	switch {
	case err != nil:
		h.Unread = append(h.Unread, fmt.Sprintf("appendfsync: %v", unknown(ctx, err)))
	case all["appendfsync"] != "always":
		return []string{fmt.Sprintf("appendfsync is %.20s: a crash loses the last claims and tokens; use always", all["appendfsync"])}
	}
	return nil
}

func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[key] = value
		}
	}
	return info
}
