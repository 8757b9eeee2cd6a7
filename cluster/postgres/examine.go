package postgres

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold/cluster"
)

// Examine asks the server that takes the claims.
func (b *Backend) Examine(ctx context.Context) cluster.Health {
	c := b.c.Pool.ConnConfig
	s := cluster.Server{Address: net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))}
	for _, f := range c.Fallbacks {
		if at := net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port))); !strings.Contains(s.Address, at) { // once with TLS, once without
			s.Address += "," + at
		}
	}
	var h cluster.Health
	var replica bool
	var now time.Time
	settings := map[string]*string{}
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		settings[name] = new(string)
	}
	err := b.pool.QueryRow(ctx, `SELECT current_setting('server_version'), pg_is_in_recovery(), clock_timestamp(),
		current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes')`).
		Scan(&s.Version, &replica, &now, settings["fsync"], settings["synchronous_commit"], settings["full_page_writes"])
	if err != nil {
		s.Err = oneLine{err}.Error()
		h.Servers = []cluster.Server{s}
		return h
	}
	s.Role, s.Skew = "primary", time.Until(now).Round(time.Millisecond)
	if replica {
		s.Role = "replica"
		h.Blocked = append(h.Blocked, "it is a replica, which takes no writes")
	}
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if *settings[name] == "off" {
			h.Forgets = append(h.Forgets, fmt.Sprintf("%s is off: a crash loses the last claims and tokens", name))
		}
	}
	h.Latency, err = cluster.Fastest(func() error {
		_, err := b.pool.Exec(ctx, "SELECT 1")
		return err
	})
	if err != nil {
		h.Unread = append(h.Unread, fmt.Sprintf("how fast it is: %v", err))
	}
	h.Servers = []cluster.Server{s}
	return h
}
