package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/solehold/solehold/cluster"
)

// Config is how ZooKeeper is reached.
type Config struct {
	// Servers are host:port.
	Servers []string
	// Prefix is the node below which all lies. It and its parents are made when they are missing.
	Prefix string
	// User and Password are a digest. With them only this user may see and change what is made here; without, everybody.
	User, Password string
}

// ConfigOf reads a target. There are no parameters of its own, and no TLS: the library has none.
func ConfigOf(t cluster.Target) (Config, error) {
	if err := t.Unknown(); err != nil {
		return Config{}, err
	}
	if t.TLS {
		return Config{}, fmt.Errorf("%w: zookeeper has no tls here: its client library does not speak it", cluster.ErrURL)
	}
	return Config{Servers: t.WithPort("2181"), Prefix: t.Prefix, User: t.User, Password: t.Password}, nil
}

// Backend makes sessions; each has a connection of its own.
type Backend struct {
	c Config

	mu       sync.Mutex
	sessions map[*session]bool
}

// New makes a backend. It does not speak to the servers yet.
func New(c Config) *Backend { return &Backend{c: c, sessions: map[*session]bool{}} }

// keep takes note of a session that has a connection, or has none any more.
func (b *Backend) keep(s *session, on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if delete(b.sessions, s); on {
		b.sessions[s] = true
	}
}

// Traits says what ZooKeeper can do.
func (b *Backend) Traits() cluster.Traits { return cluster.Traits{Engine: "zookeeper", Push: true} }

// Key is the node of the claim.
func (b *Backend) Key(name string) string { return b.node(name, "claim") }

// Close ends the connections. The library says to the server that a session has ended when it is closed, which would give
// away the locks of who still works; so the connection is taken from it first.
func (b *Backend) Close() error {
	b.mu.Lock()
	all := slices.Collect(maps.Keys(b.sessions))
	b.mu.Unlock()
	for _, s := range all {
		s.dialer.hangUp()
		s.quit()
	}
	return nil
}

// quiet drops what the library would print.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// Grant opens a session.
func (b *Backend) Grant(ctx context.Context, ttl time.Duration) (cluster.Session, error) {
	d := &dialer{patience: max(ttl/5, time.Second)}
	conn, events, err := zk.Connect(b.c.Servers, ttl, zk.WithDialer(d.dial), zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("zookeeper: %w", err)
	}
	s := &session{b: b, conn: conn, dialer: d, gone: make(chan cluster.Claim, 64), over: make(chan struct{})}
	b.keep(s, true)
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return s, s.begin(ctx)
			}
		case <-ctx.Done():
			s.quit()
			err, _ := cluster.WhySilent(context.Cause(ctx), b.c.Servers...)
			return nil, fmt.Errorf("zookeeper at %v: %w", b.c.Servers, err)
		}
	}
}

// begin takes the granted time and the right to what is made.
func (s *session) begin(ctx context.Context) error {
	s.ttl, _ = s.dialer.granted()
	if s.b.c.User == "" {
		return nil
	}
	err := s.run(ctx, func() error { return s.conn.AddAuth("digest", []byte(s.b.c.User+":"+s.b.c.Password)) })
	if err != nil {
		s.quit()
	}
	return err
}

// acl is who may use what is made.
func (b *Backend) acl() []zk.ACL {
	if b.c.User != "" {
		return zk.DigestACL(zk.PermAll, b.c.User, b.c.Password)
	}
	return zk.WorldACL(zk.PermAll)
}

func (b *Backend) node(name, leaf string) string {
	return path.Join(b.c.Prefix, cluster.EscapeName(name), leaf)
}

// parents makes the node of a lock and those above.
func (s *session) parents(name string) error {
	at := ""
	for part := range strings.SplitSeq(strings.Trim(s.b.node(name, "last"), "/"), "/") {
		at += "/" + part
		_, err := s.conn.Create(at, nil, 0, s.b.acl())
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return nil
}
