package agent_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/agent"
	"github.com/solehold/solehold/internal/agent/wire"
)

// counted counts the leases that an engine grants, and the clients that are open.
type counted struct {
	*cluster.MemoryClient
	leases, closed *int
}

func (c counted) Grant(ctx context.Context, ttl time.Duration) (cluster.Session, error) {
	*c.leases++
	return c.MemoryClient.Grant(ctx, ttl)
}

func (c counted) Close() error {
	*c.closed++
	return c.MemoryClient.Close()
}

// guestConn is a connection of a user.
type guestConn struct {
	net.Conn
	uid   uint32
	guard *fakeGuard
}

func (c guestConn) UID() uint32 { return c.uid }

// inn is the agent of a host on an engine in memory.
type inn struct {
	t              *testing.T
	host           *agent.Host
	memory         *cluster.Memory
	client         *cluster.MemoryClient // the first one
	leases, closed int
	arriving       chan agent.Peer
	said           lockedBuffer
	ended          chan struct{}
}

const innURL = "memory://x/p?ttl=2s"

func newInn(t *testing.T, uid uint32) *inn {
	t.Helper()
	i := &inn{t: t, memory: cluster.NewMemory(), arriving: make(chan agent.Peer), ended: make(chan struct{})}
	h, err := agent.NewHost(agent.HostOptions{
		Options: agent.Options{Open: func(cluster.Target) (cluster.Backend, error) {
			c := i.memory.Client(cluster.Faults{})
			if i.client == nil {
				i.client = c
			}
			return counted{c, &i.leases, &i.closed}, nil
		}},
		URLs: []string{innURL}, UID: uid,
		Guard: func(p agent.Peer, _, _ string) (agent.Guard, error) { return p.(guestConn).guard, nil },
		Say:   func(format string, args ...any) { fmt.Fprintf(&i.said, format+"\n", args...) },
	})
	if err != nil {
		t.Fatal(err)
	}
	i.host, i.client, i.closed = h, nil, 0 // it was tried
	go func() {
		h.Serve(context.Background(), func() (agent.Peer, error) {
			if p, ok := <-i.arriving; ok {
				return p, nil
			}
			return nil, net.ErrClosed
		})
		close(i.ended)
	}()
	return i
}

// guest is a run that has connected.
func (i *inn) guest(uid uint32, gone bool) *peer {
	i.t.Helper()
	ours, theirs := net.Pipe()
	ours.SetReadDeadline(time.Now().Add(patience))
	p := &peer{t: i.t, conn: ours, r: wire.NewReader(ours), guard: &fakeGuard{gone: gone}}
	i.arriving <- guestConn{theirs, uid, p.guard}
	i.t.Cleanup(func() { ours.Close() })
	return p
}

func wants(name string) wire.Message {
	m := start()
	m.Name, m.Info = name, "of "+name
	return m
}

// All runs of a host share one lease, each has a lock of its own, and the last one gives the lease back.
func TestHostSharesOneLease(t *testing.T) {
	t.Parallel()
	i := newInn(t, 0)
	var all []*peer
	for n := range 20 {
		p := i.guest(uint32(n), true)
		p.say(wants(fmt.Sprint("lock ", n)))
		all = append(all, p)
	}
	tokens := map[uint64]bool{}
	for _, p := range all {
		g := p.hears(wire.Granted)
		tokens[g.Token] = true
		if a := p.hears(wire.Acked); a.Sent <= g.Sent {
			t.Errorf("%+v after %+v", a, g)
		}
	}
	if i.leases != 1 || len(tokens) != len(all) {
		t.Errorf("%d leases, %d tokens for %d runs", i.leases, len(tokens), len(all))
	}
	for _, p := range all[1:] {
		p.say(wire.Message{Kind: wire.Release})
		if r := p.hears(wire.Released); r.Text != "" {
			t.Error(r.Text)
		}
	}
	if i.closed != 0 {
		t.Error("the client was closed while a run needs it")
	}
	all[0].hears(wire.Acked)
	all[0].say(wire.Message{Kind: wire.Release})
	if r := all[0].hears(wire.Released); r.Text != "" || i.closed != 1 {
		t.Errorf("%+v, closed %d times", r, i.closed)
	}
	next := i.guest(7, true)
	next.say(wants("lock 0"))
	next.hears(wire.Granted)
	if i.leases != 2 {
		t.Errorf("%d leases", i.leases)
	}
}

// A lock of another user of this host is refused without a word about who that is; one's own is named.
func TestHostConceals(t *testing.T) {
	t.Parallel()
	i := newInn(t, 0)
	owner := i.guest(1, true)
	owner.say(wants("kb"))
	owner.hears(wire.Granted)
	for uid, want := range map[uint32]string{1: "of kb", 2: "another user of this host"} {
		p := i.guest(uid, true)
		p.say(wants("kb"))
		if r := p.hears(wire.Refused); r.Info != want || strings.Contains(r.Text, "of kb") != (uid == 1) {
			t.Errorf("uid %d: %+v", uid, r)
		}
		w, m := i.guest(uid, true), wants("kb")
		m.Wait = -1
		w.say(m)
		if r := w.hears(wire.Waiting); r.Info != want {
			t.Errorf("uid %d: %+v", uid, r)
		}
	}
}

// decided reads up to whether the lock is granted.
func (p *peer) decided() wire.Message {
	p.t.Helper()
	for {
		m, err := p.r.Read()
		if err != nil {
			p.t.Fatal(err)
		}
		if m.Kind == wire.Granted || m.Kind == wire.Refused || m.Kind == wire.Failed {
			return m
		}
	}
}

// What cannot be killed keeps its lock: the lease is renewed for others, and nobody may work beside it.
func TestHostKeepsTheLockOfTheDeathless(t *testing.T) {
	t.Parallel()
	i := newInn(t, 0)
	p, other := i.guest(1, false), i.guest(2, true)
	p.say(wants("a"))
	p.hears(wire.Granted)
	other.say(wants("b"))
	other.hears(wire.Granted)
	p.conn.Close()
	for range 15 { // more than 1.5 times to live
		other.hears(wire.Acked)
	}
	q := serve(t, i.memory, true)
	q.say(wants("a"))
	if m := q.decided(); m.Kind != wire.Refused {
		t.Fatalf("somebody works beside it: %+v", m)
	}
	if !p.guard.asked("stop") {
		t.Error(p.guard.did)
	}
	p.guard.die()
	w := serve(t, i.memory, true)
	m := wants("a")
	m.Wait = -1
	w.say(m)
	w.hears(wire.Granted)
	other.hears(wire.Acked)
}

// Who is not served is told why, and costs nobody anything.
func TestHostTurnsAway(t *testing.T) {
	t.Parallel()
	i := newInn(t, 1000)
	for _, uid := range []uint32{0, 1001} {
		if r := i.guest(uid, true).hears(wire.Failed); r.Fault != wire.Denied || !strings.Contains(r.Text, fmt.Sprint(uid)) {
			t.Errorf("%+v", r)
		}
	}
	const most = 64 // silent ones
	for range most {
		i.guest(1000, true)
	}
	if r := i.guest(1000, true).hears(wire.Failed); r.Fault != wire.Denied || !strings.Contains(r.Text, "64 of them silent") {
		t.Errorf("%+v", r)
	}
	root := newInn(t, 0)
	good := root.guest(5, true)
	good.say(wants("kb"))
	good.hears(wire.Granted)
	for range most {
		root.guest(6, true)
	}
	root.guest(6, true).hears(wire.Failed)
	root.guest(7, true).say(wants("other"))
	good.hears(wire.Acked)
}

// An agent that is asked to end serves those it has: the first time no new ones, the second time it tells them to stop.
func TestHostEnds(t *testing.T) {
	t.Parallel()
	i := newInn(t, 0)
	p, w := i.guest(1, true), i.guest(1, true)
	p.say(wants("kb"))
	p.hears(wire.Granted)
	m := wants("kb")
	m.Wait = -1
	w.say(m)
	w.hears(wire.Waiting)
	i.host.End()
	if r := w.hears(wire.Failed); r.Fault != wire.Away || !strings.Contains(r.Text, "no new run") {
		t.Errorf("a waiter: %+v", r)
	}
	if r := i.guest(1, true).hears(wire.Failed); !strings.Contains(r.Text, "no new run") {
		t.Errorf("a new run: %+v", r)
	}
	close(i.arriving)
	for range 3 {
		p.hears(wire.Acked)
	}
	i.host.End()
	p.hears(wire.Told)
	select {
	case <-i.ended:
		t.Error("it has left a run alone")
	default:
	}
	p.say(wire.Message{Kind: wire.Release})
	p.hears(wire.Released)
	<-i.ended
	if i.closed != 1 || !strings.Contains(i.said.String(), "the last of 2") {
		t.Errorf("closed %d times: %s", i.closed, i.said.String())
	}
}

// A claim that somebody breaks is the matter of its run alone.
func TestHostLosesOne(t *testing.T) {
	t.Parallel()
	i := newInn(t, 0)
	a, b := i.guest(1, true), i.guest(2, true)
	a.say(wants("a"))
	a.hears(wire.Granted)
	b.say(wants("b"))
	b.hears(wire.Granted)
	i.memory.Break("a")
	a.hears(wire.Told)
	for range 10 {
		b.hears(wire.Acked)
	}
	if b.guard.asked("kill") || b.guard.asked("stop") {
		t.Error("another run was hurt")
	}
}

// A lease that is lost is lost for all of its runs. The one that the client has afterwards is no news for them: their
// deadlines must not move.
func TestHostLosesTogether(t *testing.T) {
	t.Parallel()
	i := newInn(t, 0)
	a, keeps := i.guest(1, true), i.guest(2, true)
	for name, p := range map[string]*peer{"a": a, "b": keeps} {
		p.say(wants(name))
		p.hears(wire.Granted)
	}
	i.client.Cut(true)
	a.hears(wire.Told)
	keeps.hears(wire.Told)
	i.client.Cut(false)
	w := i.guest(3, true)
	m := wants("c")
	m.Wait = -1
	w.say(m)
	w.hears(wire.Granted)
	w.hears(wire.Acked)
	for {
		m, err := keeps.r.Read()
		if err != nil {
			break // it was ended at 0.90 of its time to live
		}
		if m.Kind == wire.Acked {
			t.Fatal("the deadlines of a lost lock were moved")
		}
	}
	if !keeps.guard.asked("kill") || !keeps.guard.asked("fail-stop") || w.guard.asked("kill") {
		t.Error(keeps.guard.did, w.guard.did)
	}
}

// A run names an engine of the agent's, and cannot make it do anything else.
func TestHostChoosesTheEngine(t *testing.T) {
	t.Parallel()
	i := newInn(t, 0)
	for url, want := range map[string]string{
		innURL:                                  "",
		"memory://x/p":                          "ttl=15s",
		"memory://x/p?ttl=3s":                   "ttl=2s",
		"memory://x/p?ttl=2s&delay=1s":          "delay",
		"memory://x/p?ttl=2s&db=3":              "db",
		"memory://y/p?ttl=2s":                   "not for",
		"memory://x/q?ttl=2s":                   "not for",
		"etcd://x/p?ttl=2s":                     "not for",
		"memory://u@x/p?ttl=2s":                 "credentials",
		"memory://x/p?ttl=2s&ca=/etc/passwd":    "credentials",
		"memory://x/p?ttl=2s&tls=1":             "tls",
		"memory://x/p?ttl=2s&password-file=/ab": "no file can be read",
		"memory://u:secret@x/p?ttl=2s":          "password",
		"nonsense":                              "not a cluster URL",
	} {
		p, m := i.guest(1, true), wants("lock of "+url)
		m.URL = url
		p.say(m)
		if want == "" {
			p.hears(wire.Granted)
		} else if r := p.hears(wire.Failed); r.Fault != wire.Usage || !strings.Contains(r.Text, want) || strings.Contains(r.Text, "secret") {
			t.Errorf("%s: %+v", url, r)
		}
	}
	p, m := i.guest(1, true), wants("grace")
	m.Grace = time.Second
	p.say(m)
	if r := p.hears(wire.Failed); r.Fault != wire.Usage || !strings.Contains(r.Text, "0.80 ttl") {
		t.Errorf("a grace that does not fit: %+v", r)
	}
	for _, urls := range [][]string{nil, {"nonsense"}, {innURL, "memory://x/p?ttl=9s"}, {"memory://x/p?ttl=1s"}} {
		if _, err := agent.NewHost(agent.HostOptions{Options: agent.Options{Open: func(cluster.Target) (cluster.Backend, error) {
			return i.memory.Client(cluster.Faults{}), nil
		}}, URLs: urls}); err == nil {
			t.Errorf("%q is taken", urls)
		}
	}
}
