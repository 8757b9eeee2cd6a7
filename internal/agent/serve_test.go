package agent_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/agent"
	"github.com/solehold/solehold/internal/agent/wire"
)

// patience bounds each wait.
const patience = 60 * time.Second

// fakeGuard writes down what it is asked for.
type fakeGuard struct {
	mu   sync.Mutex
	did  []string
	gone bool
}

func (g *fakeGuard) note(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.did = append(g.did, what)
}

func (g *fakeGuard) isGone() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.gone
}

func (g *fakeGuard) die() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone = true
}

func (g *fakeGuard) asked(what string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, d := range g.did {
		if d == what {
			return true
		}
	}
	return false
}

func (g *fakeGuard) Watch(pid int, _ uint64, _ string) error {
	g.note("watch")
	if pid == 1 {
		return io.ErrUnexpectedEOF
	}
	return nil
}
func (g *fakeGuard) Stop(context.Context, time.Duration) bool { g.note("stop"); return g.isGone() }
func (g *fakeGuard) Kill(context.Context)                     { g.note("kill") }
func (g *fakeGuard) Gone(context.Context) bool                { return g.isGone() }
func (g *fakeGuard) FailStop(context.Context)                 { g.note("fail-stop") }
func (g *fakeGuard) Close()                                   {}

// peer is the run's side of an agent on an engine in memory.
type peer struct {
	t      *testing.T
	conn   net.Conn
	r      *wire.Reader
	guard  *fakeGuard
	engine *cluster.MemoryClient
	ended  chan error
}

func serve(t *testing.T, m *cluster.Memory, gone bool) *peer {
	t.Helper()
	ours, theirs := net.Pipe()
	ours.SetReadDeadline(time.Now().Add(patience))
	p := &peer{t: t, conn: ours, r: wire.NewReader(ours), guard: &fakeGuard{gone: gone}, engine: m.Client(cluster.Faults{}), ended: make(chan error, 1)}
	go func() {
		p.ended <- agent.Serve(context.Background(), theirs, agent.Options{
			Open:     func(cluster.Target) (cluster.Backend, error) { return p.engine, nil },
			NewGuard: func(string, string) (agent.Guard, error) { return p.guard, nil },
		})
	}()
	t.Cleanup(func() { ours.Close() })
	return p
}

func (p *peer) say(m wire.Message) {
	p.t.Helper()
	if err := wire.Write(p.conn, m); err != nil {
		p.t.Fatal(err)
	}
}

// hears reads up to a message of a kind.
func (p *peer) hears(k wire.Kind) wire.Message {
	p.t.Helper()
	for {
		m, err := p.r.Read()
		if err != nil {
			p.t.Fatalf("waiting for %s: %v", k, err)
		}
		if m.Kind == k {
			return m
		}
	}
}

func start() wire.Message {
	return wire.Message{Kind: wire.Start, URL: "memory://x/p?ttl=2s", Name: "kb", Info: "one"}
}

// A lock is granted, its acknowledgements are told, and a release is confirmed and clean.
func TestServe(t *testing.T) {
	t.Parallel()
	m := cluster.NewMemory()
	p := serve(t, m, true)
	p.say(start())
	g := p.hears(wire.Granted)
	if g.Token == 0 || g.TTL != 2*time.Second || g.Sent <= 0 || g.Key != m.Client(nil).Key("kb") {
		t.Errorf("%+v", g)
	}
	p.say(wire.Message{Kind: wire.Tree, PID: 7, Start: 8})
	if a := p.hears(wire.Acked); a.Sent <= g.Sent || a.TTL != g.TTL {
		t.Errorf("%+v after %+v", a, g)
	}
	q := serve(t, m, true)
	q.say(start())
	if r := q.hears(wire.Refused); r.Info != "one" || r.Token != g.Token {
		t.Errorf("%+v", r)
	}
	p.say(wire.Message{Kind: wire.Release})
	if r := p.hears(wire.Released); r.Text != "" {
		t.Errorf("%+v", r)
	}
	if err := <-p.ended; err != nil || p.guard.asked("kill") || p.guard.asked("stop") {
		t.Error(err, p.guard.did)
	}
	next := serve(t, m, true)
	next.say(start())
	if n := next.hears(wire.Granted); n.Token <= g.Token {
		t.Errorf("%+v", n)
	}
}

// A run that is gone has its tree stopped; only what was seen to be gone gives the lock back.
func TestServeAnOrphan(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{true, false} {
		m := cluster.NewMemory()
		p := serve(t, m, gone)
		p.say(start())
		p.hears(wire.Granted)
		p.conn.Close()
		if err := <-p.ended; (err == nil) != gone || !p.guard.asked("stop") || p.guard.asked("fail-stop") == gone {
			t.Errorf("gone %v: %v, %q", gone, err, p.guard.did)
		}
		q := serve(t, m, true)
		q.say(start())
		want := wire.Granted
		if !gone {
			want = wire.Refused // the lease has to run out
		}
		q.hears(want)
	}
}

// What is not the run's own is not taken for its tree: then nothing can be promised, and all stops.
func TestServeAForeignTree(t *testing.T) {
	t.Parallel()
	p := serve(t, cluster.NewMemory(), true)
	p.say(start())
	p.hears(wire.Granted)
	p.say(wire.Message{Kind: wire.Tree, PID: 1})
	p.hears(wire.Failed)
	if err := <-p.ended; err == nil || !p.guard.asked("fail-stop") {
		t.Error(err, p.guard.did)
	}
}

// An agent that is cut off kills at 0.80 of the time to live, and ends all at 0.90: the last resort would hide that the
// first never came. Where this machine stands still for the time between them there is nothing to see: then it is tried anew.
func TestServeCutOff(t *testing.T) {
	t.Parallel()
	for range 3 {
		p := serve(t, cluster.NewMemory(), true)
		p.say(start())
		p.hears(wire.Granted)
		p.engine.Cut(true)
		p.hears(wire.Told)
		for m := (wire.Message{}); m.Kind != wire.Failed; {
			var err error
			if m, err = p.r.Read(); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-p.ended; !errors.Is(err, agent.ErrLost) || !p.guard.asked("fail-stop") {
			t.Fatal(err, p.guard.did)
		}
		if did := p.guard.did; slices.Contains(did, "kill") && slices.Index(did, "kill") < slices.Index(did, "fail-stop") {
			return
		}
	}
	t.Error("nothing was killed before the last resort")
}

// Who waits for a holder, however short, waits out the lock-delay besides: else it would never end for who tries again.
func TestServeWaitsOutTheDelay(t *testing.T) {
	t.Parallel()
	m := cluster.NewMemory()
	s, err := m.Client(nil).Grant(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	const delay = 2 * time.Second
	if _, err = s.Claim(t.Context(), cluster.Request{Name: "kb", Nonce: "n", Delay: delay}); err != nil {
		t.Fatal(err)
	}
	if err := s.Revoke(t.Context()); err != nil { // without a release
		t.Fatal(err)
	}
	p := serve(t, m, true)
	short := start()
	short.Wait = delay / 2
	p.say(short)
	if d := p.hears(wire.Delayed); d.Limit != delay {
		t.Errorf("%+v", d)
	}
	p.hears(wire.Granted)
	q := serve(t, m, true)
	short.Wait = delay / 4
	q.say(short)
	q.hears(wire.Refused) // a holder is not waited for any longer
}

// An agent that is spoken to in another way does nothing.
func TestServeNobody(t *testing.T) {
	t.Parallel()
	p := serve(t, cluster.NewMemory(), true)
	p.say(wire.Message{Kind: wire.Release})
	p.hears(wire.Failed)
	if err := <-p.ended; err == nil {
		t.Error("no error")
	}
}
