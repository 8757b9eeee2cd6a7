package clustertest

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/solehold/solehold/cluster"
)

// cuts lets clients compete while their wires are cut at random. A holder works on after it was told, until its work is
// killed and up to a twentieth of the time to live longer.
func cuts(s *suite) {
	seed := uint64(time.Now().UnixNano())
	if n, err := strconv.ParseUint(os.Getenv("SOLEHOLD_SEED"), 10, 64); err == nil {
		seed = n
	}
	s.Logf("again: SOLEHOLD_SEED=%d", seed)
	var h History
	begin := time.Now()
	limit := max(5*s.e.TTL/2, time.Duration(45*Soak()*float64(time.Second)))
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	var all sync.WaitGroup
	for i := range 3 {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		b, cut, heal := s.e.NewCut(s)
		client := s.client(b)
		s.Cleanup(heal) // before the client is closed
		c := &cutter{suite: s, id: i, client: client, h: &h, random: random, now: func() time.Duration { return time.Since(begin) }}
		all.Go(func() { c.cuts(ctx, cut, heal) })
		all.Go(func() { c.work(ctx) })
	}
	all.Wait()
	s.Logf("%d tenures in %s", h.Len(), describe(time.Since(begin)))
	if err := h.Check(); err != nil {
		s.Error(err)
	}
}

// cutter is one client with a wire that fails.
type cutter struct {
	*suite
	id     int
	client *cluster.Client
	h      *History
	now    func() time.Duration

	mu     sync.Mutex
	random *rand.Rand
}

// some gives a random part of d.
func (c *cutter) some(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(c.random.Int64N(int64(d)))
}

// cuts cuts the wire for up to one and a half times the time to live, again and again.
func (c *cutter) cuts(ctx context.Context, cut, heal func()) {
	defer heal()
	for ctx.Err() == nil {
		pass(ctx, c.some(c.e.TTL))
		cut()
		pass(ctx, c.some(c.e.TTL*3/2))
		heal()
	}
}

func (c *cutter) work(ctx context.Context) {
	for ctx.Err() == nil {
		called := c.now()
		one, cancel := context.WithTimeout(ctx, c.e.TTL)
		l, err := c.client.Acquire(one, c.name(), cluster.AcquireOptions{Wait: true})
		cancel()
		if err == nil {
			c.tenure(ctx, l, called)
		}
		pass(ctx, c.some(c.e.TTL/10))
	}
}

// tenure works with a lease for a while.
func (c *cutter) tenure(ctx context.Context, l cluster.Lease, called time.Duration) {
	t := Tenure{Client: c.id, Name: c.name(), Token: l.Token(), Called: called, Owned: c.now()}
	dying := c.some(c.e.TTL / 20)
	select {
	case <-time.After(c.some(c.e.TTL)):
	case <-l.Killed():
		<-time.After(dying)
	}
	t.Acted = c.now()
	one, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.e.TTL)
	defer cancel()
	if err := l.Release(one); err == nil && context.Cause(l.Context()) == context.Canceled {
		t.Released = c.now()
	}
	c.h.Add(t)
}

// pass lets time pass.
func pass(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
