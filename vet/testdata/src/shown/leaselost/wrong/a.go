package wrong

import (
	"context"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/hashicorp/consul/api"
	"github.com/redis/go-redis/v9"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func etcd(client any) error {
	s, err := concurrency.NewSession(client) // want `Done`
	if err != nil {
		return err
	}
	defer s.Close()
	return concurrency.NewMutex(s, "/kb").Lock(context.Background())
}

func others(ctx context.Context, rdb *redis.Client, mutex *redsync.Mutex, lock *api.Lock, key, id string, ttl time.Duration) error {
	rdb.SetNX(ctx, key, id, ttl)
	rdb.Set(ctx, key, id, ttl) // want `SetNX`
	mutex.Extend()             // want `still ours`
	_, err := lock.Lock(nil)   // want `lost|loss`
	return err
}
