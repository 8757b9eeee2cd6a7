package etcd_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/clustertest"
)

// TestFollow hears of what others do, of one lock or of all, also of what was written and compacted while its wire was cut.
func TestFollow(t *testing.T) {
	t.Parallel()
	host := addr(start(t, 1)[0])
	wire := clustertest.NewProxy(t, host)
	far, b, keys := backend(t, wire.Addr()), backend(t, host), raw(t, host)
	defer far.Close()
	defer b.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := b.Grant(ctx, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	all, one := far.Follow(ctx, ""), far.Follow(ctx, "lock 1")
	hear := func(from <-chan struct{}) {
		t.Helper()
		select {
		case <-from:
		case <-ctx.Done():
			t.Fatal("nothing was heard")
		}
	}
	hear(all) // that it has begun
	hear(one)
	claim := func(i int) cluster.Claim {
		t.Helper()
		r := cluster.Request{Name: fmt.Sprint("lock ", i), Nonce: fmt.Sprint(i)}
		g, err := s.Claim(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		return cluster.Claim{Name: r.Name, Nonce: r.Nonce, Token: g.Token}
	}
	release := func(c cluster.Claim) {
		t.Helper()
		if err := s.Release(ctx, c, true); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		c := claim(i)
		hear(all)
		release(c)
		hear(all)
		if i == 1 {
			hear(one)
		} else if len(one) > 0 && i == 0 {
			t.Errorf("heard of lock %d", i)
		}
	}
	wire.Cut()
	for range 3 {
		release(claim(1))
		now, err := keys.Get(ctx, "/")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Compact(ctx, now.Header.Revision); err != nil {
			t.Fatal(err)
		}
	}
	for len(one) > 0 {
		<-one
	}
	wire.Heal()
	hear(one)
}
