package agent

import (
	"context"
	"sync"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/agent/wire"
)

// pool has one client for each engine, which lives as long as a run needs it: all of them share its lease. The agent of
// one run has one of a single seat.
type pool struct {
	open   func(cluster.Target) (cluster.Backend, error)
	choose func(url string) (cluster.Target, error)

	mu   sync.Mutex
	hubs map[string]*hub
}

// hub is one client and the runs that it serves.
type hub struct {
	pool   *pool
	client *cluster.Client
	// backend is for sticky claims, which have no lease.
	backend cluster.Backend
	target  cluster.Target
	engine  string

	mu     sync.Mutex
	seats  map[*agent]struct{}
	errors uint64 // requests that the engine has failed
}

func newPool(o Options) *pool {
	return &pool{
		open: o.Open, hubs: map[string]*hub{},
		choose: func(url string) (cluster.Target, error) { return cluster.ParseURL(url, o.Sources) },
	}
}

// join gives the client of the engine that a run wants.
func (p *pool) join(a *agent) (*hub, error) {
	t, err := p.choose(a.start.URL)
	if err != nil {
		return nil, err
	}
	if err := fits(t, a.start.Grace); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hubs[t.String()]
	if h == nil {
		if h, err = p.newHub(t); err != nil {
			return nil, err
		}
		p.hubs[t.String()] = h
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seats[a] = struct{}{}
	return h, nil
}

// fits refuses a grace period that cannot work, with the sum.
func fits(t cluster.Target, grace time.Duration) error {
	if grace > 0 {
		t.Grace = grace
	}
	_, err := t.Options()
	return err
}

func (p *pool) newHub(t cluster.Target) (*hub, error) {
	o, err := t.Options()
	if err != nil {
		return nil, err
	}
	b, err := p.open(t)
	if err != nil {
		return nil, err
	}
	h := &hub{pool: p, backend: b, target: t, engine: b.Traits().Engine, seats: map[*agent]struct{}{}}
	if h.client, err = cluster.New(cluster.Observe(b, h.asked), o); err != nil {
		b.Close()
	}
	return h, err
}

// asked passes on how many requests the engine has failed. It is called by the client.
func (h *hub) asked(c cluster.Call) {
	if c.Failed() {
		h.failed()
	}
}

func (h *hub) failed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errors++
	for a := range h.seats {
		a.out.say(wire.Message{Kind: wire.Trouble, Errors: h.errors})
	}
}

// conceal leaves out who has a lock, where that is a run of another user of this host.
func (h *hub) conceal(a *agent, m wire.Message) wire.Message {
	if h == nil || a.guest == nil || m.Info == "" {
		return m
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for other := range h.seats {
		if other.owns.Load() && other.start.Name == a.start.Name && other.guest.uid != a.guest.uid {
			m.Info, m.Text = "another user of this host", ""
		}
	}
	return m
}

// leave ends the client with its last run: its lease is given back.
func (h *hub) leave(ctx context.Context, a *agent) error {
	h.pool.mu.Lock()
	h.mu.Lock()
	_, sits := h.seats[a]
	delete(h.seats, a)
	last := sits && len(h.seats) == 0
	if last {
		delete(h.pool.hubs, h.target.String())
	}
	h.mu.Unlock()
	h.pool.mu.Unlock()
	if !last {
		return nil
	}
	return h.client.Close(ctx)
}
