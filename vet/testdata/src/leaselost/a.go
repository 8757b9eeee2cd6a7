package leaselost

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/hashicorp/consul/api"
	"github.com/redis/go-redis/v9"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func etcd(ctx context.Context, client any, work func()) error {
	s, err := concurrency.NewSession(client) // want `nobody reads Done of this session`
	if err != nil {
		return err
	}
	defer s.Close()
	m := concurrency.NewMutex(s, "/kb")
	if err := m.Lock(ctx); err != nil {
		return err
	}
	work()
	return m.Unlock(ctx)
}

func plainSet(ctx context.Context, c *redis.Client, key, id string) error {
	if err := c.SetNX(ctx, key, id, time.Minute).Err(); err != nil {
		return err
	}
	if err := c.Set(ctx, key, id, time.Minute).Err(); err != nil { // want `Set on the key of a lock \(SetNX at a.go:29\) takes the lock`
		return err
	}
	c.Expire(ctx, key, time.Minute) // want `Expire on the key of a lock`
	return c.Del(ctx, key).Err()    // want `Del on the key of a lock`
}

func ignored(ctx context.Context, m *redsync.Mutex, l *redislock.Lock, c *api.Lock) error {
	m.Extend()                       // want `whether the lock is still ours is thrown away`
	l.Refresh(ctx, time.Second, nil) // want `whether the lock is still ours is thrown away`
	_, err := c.Lock(nil)            // want `the channel that tells the loss of the lock is thrown away`
	return err
}

// Right.

func returned(client any) (*concurrency.Session, error) {
	s, err := concurrency.NewSession(client)
	if err != nil {
		return nil, err
	}
	concurrency.NewMutex(s, "/kb")
	return s, nil
}

func noLock(client any) error {
	s, err := concurrency.NewSession(client)
	if err != nil {
		return err
	}
	return s.Close()
}

func checked(ctx context.Context, m *redsync.Mutex, l *redislock.Lock, c *api.Lock, work func(<-chan struct{})) error {
	if ok, err := m.Extend(); !ok || err != nil {
		return err
	}
	lost, err := c.Lock(nil)
	if err != nil {
		return err
	}
	work(lost)
	return l.Refresh(ctx, time.Second, nil)
}

func script(ctx context.Context, c *redis.Client, renew *redis.Script, lock, data string) error {
	if err := c.SetNX(ctx, lock, "id", time.Minute).Err(); err != nil {
		return err
	}
	c.Set(ctx, data, "value", 0)
	return renew.Run(ctx, c, []string{lock}, "id").Err()
}
