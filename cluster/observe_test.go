package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
)

// calls are what Observe told.
type calls struct {
	mu  sync.Mutex
	all []cluster.Call
}

func (c *calls) told(x cluster.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, x)
}

func (c *calls) ops(want func(cluster.Call) bool) (ops []cluster.Op) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.all {
		if want(x) {
			ops = append(ops, x.Op)
		}
	}
	slices.Sort(ops)
	return slices.Compact(ops)
}

// Each request is told, and the lock works as without.
func TestObserve(t *testing.T) {
	t.Parallel()
	var heard calls
	engine := cluster.NewMemory()
	b := cluster.Observe(engine.Client(cluster.Faults{}), heard.told)
	if b.Traits().Engine != engine.Client(cluster.Faults{}).Traits().Engine {
		t.Errorf("%+v", b.Traits())
	}
	acked := make(chan struct{}, 100)
	c, err := cluster.New(b, cluster.Options{TTL: 2 * time.Second, OnAcked: func(_, _ time.Duration) { acked <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := cluster.New(engine.Client(cluster.Faults{}), cluster.Options{TTL: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Acquire(t.Context(), "a", cluster.AcquireOptions{}); !errors.Is(err, cluster.ErrHeld) {
		t.Errorf("not held: %v", err)
	}
	for range 3 {
		<-acked
	}
	if err := errors.Join(l.Release(t.Context()), c.Close(t.Context()), other.Close(t.Context())); err != nil {
		t.Error(err)
	}
	all := heard.ops(func(cluster.Call) bool { return true })
	for _, want := range []cluster.Op{cluster.OpGrant, cluster.OpClaim, cluster.OpRenew, cluster.OpRelease, cluster.OpRevoke} {
		if !slices.Contains(all, want) {
			t.Errorf("%s was not told: %v", want, all)
		}
	}
	if failed := heard.ops(cluster.Call.Failed); failed != nil {
		t.Errorf("%v failed", failed)
	}
}

// What the engine does not answer has failed; what it answers, and what the caller
// does not want any more, has not.
func TestCallFailed(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		err  error
		want bool
	}{
		"done":       {nil, false},
		"held":       {fmt.Errorf("claim: %w", &cluster.HeldError{Name: "a"}), false},
		"lease gone": {fmt.Errorf("renew: %w", cluster.ErrLeaseGone), false},
		"went away":  {fmt.Errorf("renew: %w", context.Canceled), false},
		"silent":     {context.DeadlineExceeded, true},
		"refused":    {errors.New("connection refused"), true},
	} {
		if got := (cluster.Call{Op: cluster.OpRenew, Err: c.err}).Failed(); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// A grant that fails is told once, and its error is the caller's.
func TestObserveNoGrant(t *testing.T) {
	t.Parallel()
	var heard calls
	faults, err := cluster.ParseFaults("grant.request lost 1")
	if err != nil {
		t.Fatal(err)
	}
	b := cluster.Observe(cluster.NewMemory().Client(faults), heard.told)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if s, err := b.Grant(ctx, time.Second); err == nil || s != nil {
		t.Errorf("%v, %v", s, err)
	}
	if failed := heard.ops(cluster.Call.Failed); !slices.Equal(failed, []cluster.Op{cluster.OpGrant}) {
		t.Errorf("%v", failed)
	}
}
