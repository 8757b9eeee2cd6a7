package metrics

import (
	"sync"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/exposition"
	"github.com/solehold/solehold/internal/lease"
)

// leaseState is what the client of an engine has told. A nil one has told nothing.
type leaseState struct {
	clock cluster.Clock

	mu        sync.Mutex
	sent, ttl time.Duration
	over      bool
}

// Cluster makes a client of an engine tell this Collector about its lease, under
// the data directory that the lease guards. Call cluster.New with what it gives:
//
//	client, err := cluster.New(c.Cluster(dir, backend, options))
//
// What options.OnAcked was is called as well.
func (c *Collector) Cluster(dir string, b cluster.Backend, o cluster.Options) (cluster.Backend, cluster.Options) {
	if o.Clock == nil {
		o.Clock = cluster.SystemClock()
	}
	s := &leaseState{clock: o.Clock}
	next := o.OnAcked
	o.OnAcked = func(sent, ttl time.Duration) {
		renewed := s.acked(sent, ttl)
		c.at(dir, func(d *directory) {
			d.lease = s
			if renewed {
				d.Renewals++
			}
		})
		if next != nil {
			next(sent, ttl)
		}
	}
	return cluster.Observe(b, func(call cluster.Call) {
		if call.Op == cluster.OpRevoke {
			s.end()
		}
		if call.Failed() {
			c.at(dir, func(d *directory) { d.EngineErrors++ })
		}
	}), o
}

// acked says whether this was a renewal, and not the first that was heard.
func (s *leaseState) acked(sent, ttl time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.ttl > 0 && !s.over
	s.sent, s.ttl, s.over = sent, ttl, false
	return before
}

func (s *leaseState) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// now is nil where there is no lease: it was given back, or has run out long ago.
func (s *leaseState) now() *exposition.Lease {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	margin := s.sent + lease.TimesOf(s.ttl).Tell - s.clock.Now()
	if s.over || s.ttl == 0 || margin < -s.ttl {
		return nil
	}
	return &exposition.Lease{Margin: margin, TTL: s.ttl}
}
