package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/solehold/solehold/cluster"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Config is how etcd is reached.
type Config struct {
	// Endpoints are host:port of the members.
	Endpoints []string
	// Prefix is what all keys begin with.
	Prefix string
	// User and Password are for authentication by name. A TLS identity is better: with a password each new stream costs
	// the server a hash.
	User, Password string
	// TLS is the configuration for TLS, or nil.
	TLS *tls.Config
	// Strict refuses servers that are known to end leases early.
	Strict bool
	// OnWarning is told of such servers, from any goroutine, once each. It must not block. By default they are not mentioned.
	OnWarning func(error)
}

// ConfigOf reads a target. Its own parameter is strict=1.
func ConfigOf(t cluster.Target) (Config, error) {
	c := Config{Endpoints: t.WithPort("2379"), Prefix: t.Prefix, User: t.User, Password: t.Password}
	c.Strict = t.Params.Get("strict") == "1"
	if err := t.Unknown("strict"); err != nil {
		return Config{}, err
	}
	var err error
	c.TLS, err = tlsOf(t)
	return c, err
}

func tlsOf(t cluster.Target) (*tls.Config, error) {
	if !t.TLS {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("%w: ca: %w", cluster.ErrURL, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: ca: %s has no certificate", cluster.ErrURL, t.CAFile)
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("%w: cert and key: %w", cluster.ErrURL, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Backend is one client of etcd.
type Backend struct {
	c      Config
	root   string // what all keys begin with, up to the kind of each
	client *clientv3.Client
	gate   gate
	bases  sync.Map    // by name: what the tokens of a lock are above the revisions
	raised atomic.Bool // the tokens of some lock were seen to be raised
	held   sync.Map    // by name: the locks that another had when they were last asked for
}

// New makes a client. Without a password it does not speak to the servers yet.
func New(c Config) (*Backend, error) {
	if c.OnWarning == nil {
		c.OnWarning = func(error) {}
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: c.Endpoints, Username: c.User, Password: c.Password, TLS: c.TLS, Logger: zap.NewNop(),
		DialTimeout:          5 * time.Second,
		DialKeepAliveTime:    10 * time.Second, // servers take less for an attack
		DialKeepAliveTimeout: 3 * time.Second,
	})
	if err != nil {
		return nil, fmt.Errorf("etcd at %v: %w", c.Endpoints, err)
	}
	return &Backend{c: c, root: strings.TrimSuffix(path.Join(c.Prefix, "-"), "-"), client: client}, nil
}

// Traits says what etcd can do.
func (b *Backend) Traits() cluster.Traits { return cluster.Traits{Engine: "etcd", Push: true} }

// Key is that of the claim.
func (b *Backend) Key(name string) string { return b.claimKey(name) }

// Close ends the connections.
func (b *Backend) Close() error { return b.client.Close() }

// Owner is a condition for transactions of the same etcd: that the claim with this token still owns the lock. A write
// under it is refused when it comes late, however late its holder hears of the loss.
func (b *Backend) Owner(name string, token uint64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(b.claimKey(name)), "=", b.revision(name, token))
}

// revision is the one at which the claim with a token was written. It is known for locks that this client has asked for.
func (b *Backend) revision(name string, token uint64) int64 {
	return int64(token - b.base(name))
}

// base is what this client knows of the number that the tokens of a lock were raised by.
func (b *Backend) base(name string) uint64 {
	base, _ := b.bases.Load(name)
	n, _ := base.(uint64)
	return n
}

func (b *Backend) claimKey(name string) string { return b.key("claim/", name) }

func (b *Backend) lastKey(name string) string { return b.key("last/", name) }

// baseKey has the number that an operator has raised the tokens of a lock by. It changes only while nobody has the lock.
func (b *Backend) baseKey(name string) string { return b.key("base/", name) }

// key is where something about a lock lies, or, for the name "", what these begin with.
func (b *Backend) key(kind, name string) string { return b.root + kind + cluster.EscapeName(name) }

// Grant asks for a lease.
func (b *Backend) Grant(ctx context.Context, ttl time.Duration) (cluster.Session, error) {
	if err := b.lookAtVersions(ctx); err != nil {
		return nil, err
	}
	seconds := (ttl + time.Second - 1) / time.Second
	g, err := b.client.Grant(ctx, int64(seconds))
	if err != nil {
		return nil, b.away(err)
	}
	return newSession(b, g), nil
}

// away is plain for a request that may be the first: is there a server at all?
func (b *Backend) away(err error) error {
	err, _ = cluster.WhySilent(err, b.c.Endpoints...)
	return plain(err)
}

// plain makes the errors of etcd those of the contract.
func plain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return cluster.ErrLeaseGone
	}
	return fmt.Errorf("etcd: %w", err)
}
