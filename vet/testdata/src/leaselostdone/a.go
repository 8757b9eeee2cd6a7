// Package leaselostdone listens for the end of its session.
package leaselostdone

import (
	"context"

	"go.etcd.io/etcd/client/v3/concurrency"
)

func etcd(ctx context.Context, client any, work func(context.Context)) error {
	s, err := concurrency.NewSession(client)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-s.Done()
		cancel()
	}()
	m := concurrency.NewMutex(s, "/kb")
	if err := m.Lock(ctx); err != nil {
		return err
	}
	work(ctx)
	return m.Unlock(ctx)
}
