package right

import (
	"context"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/hashicorp/consul/api"
	"github.com/redis/go-redis/v9"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func etcd(client any, stop func()) error {
	s, err := concurrency.NewSession(client)
	if err != nil {
		return err
	}
	select {
	case <-s.Done():
		stop()
	}
	return s.Close()
}

func others(ctx context.Context, rdb *redis.Client, compareAndExpire *redis.Script, mutex *redsync.Mutex, lock *api.Lock, key, id string, ttl time.Duration, stop func()) error {
	rdb.SetNX(ctx, key, id, ttl)
	compareAndExpire.Run(ctx, rdb, []string{key}, id, ttl)
	if ok, err := mutex.Extend(); !ok || err != nil {
		stop()
	}
	lost, err := lock.Lock(nil)
	if err != nil {
		return err
	}
	select {
	case <-lost:
		stop()
	}
	return nil
}
