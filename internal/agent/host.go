package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/agent/wire"
)

// Peer is a run that has connected, as the kernel shows it. *supervise.AgentPeer is one.
type Peer interface {
	io.ReadWriteCloser
	// UID is its user.
	UID() uint32
}

// HostOptions are what the agent of a host needs of the world.
type HostOptions struct {
	// Options are those of each run but for NewGuard.
	Options
	// URLs are the engines that runs may name. What they say counts, but for what lock is wanted.
	URLs []string
	// UID is the user of the agent. Only that of root serves other users: no other could stop what they run.
	UID uint32
	// Guard guards a run.
	Guard func(p Peer, dir, state string) (Guard, error)
	// Say tells whoever runs the agent one line.
	Say func(format string, args ...any)
}

// Limits for each user, so that one that connects again and again holds up nobody else.
const (
	mostRuns   = 1000
	mostSilent = 64               // that have not said yet what they want
	longest    = 10 * time.Second // for which they may be silent
)

var (
	errDraining = errors.New("the agent of this host is being stopped, and serves no new run")
	// ErrDenied says that the agent of a host does not serve this run.
	ErrDenied = errors.New("the agent of this host does not serve this run")
)

// Host is the agent of a host: all runs with one engine share a client, so a lease. Each run has its own guard, and its own
// goroutines: what one does holds up no other.
type Host struct {
	o             HostOptions
	pool          *pool
	drain, ending chan struct{}

	mu     sync.Mutex
	stops  int // how often it was asked to end
	users  map[uint32]*account
	guests sync.WaitGroup
}

// account counts the runs of a user.
type account struct{ runs, silent int }

// NewHost makes one; it has not spoken to any engine yet.
func NewHost(o HostOptions) (*Host, error) {
	if o.Open == nil {
		o.Open = Engine
	}
	allowed, err := allow(o.URLs, o.Options)
	if err != nil {
		return nil, err
	}
	h := &Host{o: o, pool: newPool(o.Options), drain: make(chan struct{}), ending: make(chan struct{}), users: map[uint32]*account{}}
	h.pool.choose = allowed.choose
	return h, nil
}

// Serve serves the runs that connect until it is asked to end and the last one has. accept gives them; net.ErrClosed is the
// end of that, any other error is a shortage that may pass.
func (h *Host) Serve(ctx context.Context, accept func() (Peer, error)) {
	const again = 100 * time.Millisecond
	for {
		p, err := accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			h.guests.Wait()
			return
		case err != nil:
			h.o.Say("%v", err)
			<-time.After(again)
			continue
		}
		g := &guest{host: h, uid: p.UID(), silent: true}
		if err := h.enter(g); err != nil {
			go turnAway(p, err)
			continue
		}
		h.guests.Add(1)
		go h.visit(ctx, p, g)
	}
}

// End is asked for by a signal: at first no new run is served; asked again it tells those that are to stop. The caller
// ends the accepting. Nothing is given back that is in use.
func (h *Host) End() {
	h.mu.Lock()
	defer h.mu.Unlock()
	runs := 0
	for _, u := range h.users {
		runs += u.runs
	}
	switch h.stops++; h.stops {
	case 1:
		close(h.drain)
		h.o.Say("serving no new runs, and ending with the last of %d; asked again it stops them", runs)
	case 2:
		close(h.ending)
		h.o.Say("asked again: telling %d runs to stop", runs)
	}
}

// visit is one run, from its connection to its end.
func (h *Host) visit(ctx context.Context, p Peer, g *guest) {
	defer h.guests.Done()
	defer h.left(g)
	o := h.o.Options
	o.NewGuard = func(dir, state string) (Guard, error) {
		guard, err := h.o.Guard(p, dir, state)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDenied, err)
		}
		return guard, nil
	}
	a := &agent{o: o, pool: h.pool, guest: g}
	err := a.live(ctx, p)
	if err != nil && a.start.Name != "" && !errors.Is(err, cluster.ErrHeld) && !errors.Is(err, context.Canceled) {
		h.o.Say("lock %.100q of uid %d: %v", a.start.Name, g.uid, err)
	}
}

// enter lets a run in, or says why not.
func (h *Host) enter(g *guest) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	u := h.users[g.uid]
	if u == nil {
		u = &account{}
	}
	switch {
	case g.uid != h.o.UID && h.o.UID != 0:
		return fmt.Errorf("%w: it is that of uid %d, and could not stop what uid %d runs", ErrDenied, h.o.UID, g.uid)
	case h.stops > 0:
		return errDraining
	case u.runs >= mostRuns || u.silent >= mostSilent:
		return fmt.Errorf("%w: uid %d has %d connections, %d of them silent", ErrDenied, g.uid, u.runs, u.silent)
	}
	u.runs++
	u.silent++
	h.users[g.uid] = u
	return nil
}

func (h *Host) left(g *guest) {
	g.spoke()
	h.mu.Lock()
	defer h.mu.Unlock()
	u := h.users[g.uid]
	if u.runs--; u.runs == 0 {
		delete(h.users, g.uid)
	}
}

// turnAway says why: the socket has room for that.
func turnAway(p Peer, err error) {
	wire.Write(p, failure(err, false))
	p.Close()
}

// guest is a run at the agent of a host. A nil one is the run of an agent of its own.
type guest struct {
	host   *Host
	uid    uint32
	silent bool // guarded by host.mu
}

// spoke says that it has said what it wants.
func (g *guest) spoke() {
	if g == nil {
		return
	}
	g.host.mu.Lock()
	defer g.host.mu.Unlock()
	if g.silent {
		g.silent = false
		g.host.users[g.uid].silent--
	}
}

// silence ends when it has been silent for too long.
func (g *guest) silence() <-chan time.Time {
	if g == nil {
		return nil
	}
	return time.After(longest)
}

// draining is closed when no new run is served.
func (g *guest) draining() <-chan struct{} {
	if g == nil {
		return nil
	}
	return g.host.drain
}

// stopping is closed when all runs are to stop.
func (g *guest) stopping() <-chan struct{} {
	if g == nil {
		return nil
	}
	return g.host.ending
}
