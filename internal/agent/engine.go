package agent

import (
	"fmt"
	"os"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/etcd"
	"github.com/solehold/solehold/cluster/postgres"
	"github.com/solehold/solehold/cluster/redis"
	"github.com/solehold/solehold/cluster/zookeeper"
)

// Engine makes the client of the engine that a target names.
func Engine(t cluster.Target) (cluster.Backend, error) {
	switch t.Engine {
	case "etcd":
		return backend(t, etcdConfig, etcd.New)
	case "redis":
		redis.Quiet()
		return backend(t, redis.ConfigOf, func(c redis.Config) (*redis.Backend, error) { return redis.New(c), nil })
	case "postgres":
		return backend(t, postgres.ConfigOf, postgres.New)
	case "zookeeper":
		return backend(t, zookeeper.ConfigOf, func(c zookeeper.Config) (*zookeeper.Backend, error) { return zookeeper.New(c), nil })
	}
	return nil, fmt.Errorf("%w: there is no engine %.40q: etcd, postgres, redis, zookeeper", cluster.ErrURL, t.Engine)
}

// etcdConfig says what is wrong with a server to whoever has started us.
func etcdConfig(t cluster.Target) (etcd.Config, error) {
	c, err := etcd.ConfigOf(t)
	c.OnWarning = func(err error) { fmt.Fprintln(os.Stderr, "solehold-cluster: warning:", err) }
	return c, err
}

// backend avoids the nil pointer in an interface.
func backend[C any, B cluster.Backend](t cluster.Target, configOf func(cluster.Target) (C, error), open func(C) (B, error)) (cluster.Backend, error) {
	c, err := configOf(t)
	if err != nil {
		return nil, err
	}
	b, err := open(c)
	if err != nil {
		return nil, err
	}
	return b, nil
}
