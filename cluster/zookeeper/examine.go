package zookeeper

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/solehold/solehold/cluster"
)

// Examine asks each server with the four letters srvr, which servers answer unless they are told not to.
func (b *Backend) Examine(ctx context.Context) cluster.Health {
	h := cluster.Health{Servers: make([]cluster.Server, len(b.c.Servers))}
	took := make([]time.Duration, len(b.c.Servers))
	var all sync.WaitGroup
	for i, address := range b.c.Servers {
		all.Go(func() {
			s := &h.Servers[i]
			s.Address = address
			begin := time.Now()
			if err := s4(ctx, s); err != nil {
				s.Err = err.Error()
				return
			}
			took[i] = time.Since(begin)
		})
	}
	all.Wait()
	for _, d := range took {
		if d > 0 && (h.Latency == 0 || d < h.Latency) {
			h.Latency = d
		}
	}
	return h
}

// s4 asks one server.
func s4(ctx context.Context, s *cluster.Server) error {
	var dial net.Dialer
	conn, err := dial.DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := conn.Write([]byte("srvr")); err != nil {
		return err
	}
	const most = 64 << 10
	lines := bufio.NewScanner(io.LimitReader(conn, most))
	for lines.Scan() {
		switch key, value, _ := strings.Cut(lines.Text(), ":"); {
		case key == "Zookeeper version":
			s.Version, _, _ = strings.Cut(strings.TrimSpace(value), ",")
		case key == "Mode":
			s.Role = strings.TrimSpace(value)
		case strings.Contains(lines.Text(), "not currently serving"):
			s.Alone = true
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if s.Version == "" {
		return errors.New("it does not answer srvr (4lw.commands.whitelist), or is no ZooKeeper")
	}
	return nil
}
