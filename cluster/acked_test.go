package cluster_test

import (
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
)

// Whoever keeps the deadlines elsewhere hears of the lease and of each renewal, with the time of sending.
func TestOnAcked(t *testing.T) {
	t.Parallel()
	type ack struct{ sent, ttl time.Duration }
	acks := make(chan ack, 64)
	clock := cluster.SystemClock()
	begin := clock.Now()
	c, err := cluster.New(cluster.NewMemory().Client(cluster.Faults{}), cluster.Options{
		TTL: 2 * time.Second, OnAcked: func(sent, ttl time.Duration) { acks <- ack{sent, ttl} },
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{})
	if err != nil {
		t.Fatal(err)
	}
	last := begin
	for range 3 {
		a := <-acks
		if a.sent <= last || a.sent > clock.Now() || a.ttl != 2*time.Second {
			t.Errorf("%v after %v", a, last)
		}
		last = a.sent
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
