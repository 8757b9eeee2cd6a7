package etcd

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// watchAgain is how long a watch that has ended is gone before there is another.
const watchAgain = time.Second

// Follow watches the claims. It begins with now each time: what a compaction, an outage or a member without a leader has
// kept from it is seen by the look that follows.
func (b *Backend) Follow(ctx context.Context, name string) <-chan struct{} {
	changed := make(chan struct{}, 1)
	tell := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	o := []clientv3.OpOption{clientv3.WithCreatedNotify()}
	if name == "" {
		o = append(o, clientv3.WithPrefix())
	}
	go func() {
		for ctx.Err() == nil {
			for range b.client.Watch(clientv3.WithRequireLeader(ctx), b.claimKey(name), o...) {
				tell()
			}
			tell()
			select {
			case <-time.After(watchAgain):
			case <-ctx.Done():
			}
		}
	}()
	return changed
}
