package redis

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/solehold/solehold/cluster"
)

// Config is how Redis is reached.
type Config struct {
	// Addrs are host:port: one server, or the Sentinels with Master, or some nodes of a Cluster.
	Addrs []string
	// Prefix is what all keys begin with.
	Prefix string
	// Master is the name that the Sentinels know the server by.
	Master string
	// Cluster says that the addresses are nodes of a Cluster.
	Cluster bool
	// DB is the number of the database; 0 in a Cluster.
	DB int
	// User and Password are the credential.
	User, Password string
	// TLS is the configuration for TLS, or nil.
	TLS *tls.Config
	// Dial connects to a server, also to those that Sentinels and nodes of a Cluster name; nil is by TCP, or TLS.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// ConfigOf reads a target. Its own parameters are master=NAME for Sentinels, cluster=1 and db=N.
func ConfigOf(t cluster.Target) (Config, error) {
	port := "6379"
	c := Config{Prefix: strings.Trim(t.Prefix, "/"), User: t.User, Password: t.Password}
	c.Master, c.Cluster = t.Params.Get("master"), t.Params.Get("cluster") == "1"
	if c.Master != "" {
		port = "26379"
	}
	if db := t.Params.Get("db"); db != "" {
		n, err := strconv.Atoi(db)
		if err != nil || n < 0 {
			return Config{}, fmt.Errorf("%w: db is a number", cluster.ErrURL)
		}
		c.DB = n
	}
	if err := t.Unknown("master", "cluster", "db"); err != nil {
		return Config{}, err
	}
	if t.TLS {
		if t.CAFile+t.CertFile+t.KeyFile != "" {
			return Config{}, fmt.Errorf("%w: redis takes tls=1 and the certificates of this system", cluster.ErrURL)
		}
		c.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	c.Addrs = t.WithPort(port)
	return c, nil
}

// Backend is one client of Redis.
type Backend struct {
	c       Config
	client  redis.UniversalClient
	scripts scripts
}

// New makes a client. It does not speak to the server yet.
func New(c Config) *Backend {
	o := &redis.UniversalOptions{
		Addrs: c.Addrs, MasterName: c.Master, DB: c.DB, Username: c.User, Password: c.Password, TLSConfig: c.TLS,
		Dialer:                c.Dial,
		IsClusterMode:         c.Cluster,
		ContextTimeoutEnabled: true, // otherwise a silent server is waited for beyond the context
		MaxRetries:            -1,   // a request is sent once: the lease machine decides about another one
		DisableIdentity:       true,
	}
	return &Backend{c: c, client: redis.NewUniversalClient(o), scripts: newScripts()}
}

// Quiet stops go-redis, in the whole program, from writing to stderr by itself: what has failed is in the errors.
func Quiet() { logging.Disable() }

// Traits says what Redis can do.
func (b *Backend) Traits() cluster.Traits {
	return cluster.Traits{
		Engine: "redis", RenewLooks: true,
		Fencing: "tokens and claims do not survive a failover, a restart without appendfsync=always or an eviction",
	}
}

// Key is that of the claim.
func (b *Backend) Key(name string) string { return b.keys(name)[0] }

// Close ends the connections.
func (b *Backend) Close() error { return b.client.Close() }

// Grant makes a session. Redis has no leases: the first request is the first claim's.
func (b *Backend) Grant(ctx context.Context, ttl time.Duration) (cluster.Session, error) {
	if err := b.client.Ping(ctx).Err(); err != nil {
		return nil, b.away(ctx, err)
	}
	return &session{b: b, ttl: ttl}, nil
}

// keys are those of one lock.
func (b *Backend) keys(name string) []string {
	base := b.c.Prefix + ":{" + cluster.EscapeName(name) + "}:"
	return []string{base + "claim", base + "last", base + "token"}
}

func (b *Backend) channel(name string) string {
	return b.c.Prefix + ":{" + cluster.EscapeName(name) + "}:free"
}

// away is unknown for a request that may be the first: is there a server at all?
func (b *Backend) away(ctx context.Context, err error) error {
	if why, silent := cluster.WhySilent(err, b.c.Addrs...); silent {
		return fmt.Errorf("redis: %w", why)
	}
	return unknown(ctx, err)
}

// unknown is an error that says nothing about what the server has done.
func unknown(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("redis: %w", context.Cause(ctx))
	}
	return fmt.Errorf("redis: %w", err)
}
