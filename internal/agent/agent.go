package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/agent/wire"
	"github.com/solehold/solehold/internal/lease"
)

// Guard stops the tree of a run. *supervise.Guard is one.
type Guard interface {
	// Watch takes in a new tree.
	Watch(pid int, start uint64, cgroup string) error
	// Stop asks a tree to end, kills it after the grace period, and reports whether it was seen to be gone.
	Stop(ctx context.Context, grace time.Duration) bool
	// Kill kills the tree, Gone reports whether nothing is left of it.
	Kill(ctx context.Context)
	Gone(ctx context.Context) bool
	// FailStop kills the run as well.
	FailStop(ctx context.Context)
	// Close closes what is open.
	Close()
}

// Options are what an agent needs of the world.
type Options struct {
	// Open makes the engine's client; Engine by default.
	Open func(cluster.Target) (cluster.Backend, error)
	// Sources are where secrets come from.
	Sources cluster.Sources
	// Forget writes down in a directory that its sticky claim of this nonce is gone.
	Forget func(dir, state, nonce string) error
	// NewGuard guards the run that holds a directory.
	NewGuard func(dir, state string) (Guard, error)
}

// killAgain is the time between two kills of a tree that is still there.
const killAgain = 50 * time.Millisecond

// lastWords bounds how long the end is awaited, in times to live: a process that cannot be killed waits for a disk.
const lastWords = 3

// ErrLost says that the lock was lost; the tree was killed.
var ErrLost = errors.New("the lock was lost")

var errNoStart = errors.New("nobody said which lock is wanted")

// agent is one lock for one run. Its methods run on one goroutine, but for those that the client calls.
type agent struct {
	o        Options
	pool     *pool
	guest    *guest // nil for the agent of one run
	out      *outbox
	in       chan wire.Message // closed when the run is gone
	start    wire.Message
	guard    Guard
	hub      *hub
	lease    cluster.Lease
	held     bool
	owns     atomic.Bool // for other goroutines
	failStop chan struct{}
	sent     atomic.Int64 // of the last acknowledged renewal
	ttl      atomic.Int64
	answered atomic.Bool // that the lock is had
	told     atomic.Bool // that a sticky claim is settled
}

// Serve is the life of an agent: it speaks with the run over conn, which it closes. An error was told to the run as well.
func Serve(ctx context.Context, conn io.ReadWriteCloser, o Options) error {
	if o.Open == nil {
		o.Open = Engine
	}
	a := &agent{o: o, pool: newPool(o)}
	return a.live(ctx, conn)
}

// live speaks with the run over conn, which it closes.
func (a *agent) live(ctx context.Context, conn io.ReadWriteCloser) error {
	defer conn.Close()
	a.in, a.failStop, a.out = make(chan wire.Message), make(chan struct{}, 1), newOutbox(conn)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go a.listen(ctx, conn)
	defer a.out.flush()
	err := a.serve(ctx)
	if err != nil {
		a.out.say(a.hub.conceal(a, failure(err, a.start.Sticky != nil)))
	}
	if a.hub != nil && !a.held {
		a.end(ctx) // after the answer: it takes its time
	}
	return err
}

// listen reads what the run says, to its end.
func (a *agent) listen(ctx context.Context, conn io.Reader) {
	defer close(a.in)
	r := wire.NewReader(conn)
	for {
		m, err := r.Read()
		if err != nil {
			return // what cannot be understood is as good as nobody
		}
		select {
		case a.in <- m:
		case <-ctx.Done():
			return
		}
	}
}

func (a *agent) serve(ctx context.Context) error {
	select {
	case m, ok := <-a.in:
		if a.start = m; !ok || m.Kind != wire.Start {
			return errNoStart
		}
	case <-a.guest.silence():
		return errNoStart
	}
	a.guest.spoke()
	if err := a.open(); err != nil {
		return err
	}
	defer a.guard.Close()
	if err := a.acquire(ctx); err != nil {
		return err
	}
	a.held = true
	a.owns.Store(true)
	return a.hold(ctx)
}

// open prepares everything that can be wrong before the engine is asked.
func (a *agent) open() (err error) {
	if a.guard, err = a.o.NewGuard(a.start.Dir, a.start.State); err != nil {
		return err
	}
	if a.start.Sticky != nil && a.guest != nil {
		a.guard.Close()
		return fmt.Errorf("%w: a sticky claim is kept by an agent of its own", ErrDenied)
	}
	a.hub, err = a.pool.join(a)
	if err != nil {
		a.guard.Close()
	}
	return err
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// acked passes on from when the deadlines count. It is called by the client.
func (a *agent) acked(sent, ttl time.Duration) {
	a.sent.Store(int64(sent))
	a.ttl.Store(int64(ttl))
	a.out.say(wire.Message{Kind: wire.Acked, Sent: sent, TTL: ttl})
}

// acquire takes the lock, unless the run does not want it any more.
func (a *agent) acquire(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	granted := func() {}
	if a.start.Wait > 0 {
		late := time.AfterFunc(a.start.Wait, func() { cancel(context.DeadlineExceeded) })
		defer late.Stop()
		granted = func() { late.Stop() } // a wait shorter than the lock-delay would give the claim up each time, and never own it
	}
	done := make(chan error, 1)
	go func() {
		l, err := a.take(ctx, granted)
		if err == nil {
			a.lease = l
		}
		done <- err
	}()
	var err error
	select {
	case err = <-done:
	case <-a.in: // it has nothing to say now but that it does not want the lock
		err = a.unwanted(ctx, cancel, done)
	case <-a.guest.draining():
		if err = a.unwanted(ctx, cancel, done); errors.Is(err, context.Canceled) {
			err = errDraining
		}
	}
	if err != nil {
		return err
	}
	a.out.say(wire.Message{
		Kind: wire.Granted, Engine: a.hub.engine, Key: a.hub.backend.Key(a.start.Name),
		Token: a.lease.Token(), Sent: time.Duration(a.sent.Load()), TTL: time.Duration(a.ttl.Load()), Sticky: a.stuck(),
	})
	a.answered.Store(true)
	return nil
}

// take asks the engine for the lock.
func (a *agent) take(ctx context.Context, granted func()) (cluster.Lease, error) {
	if a.start.Sticky != nil {
		return a.stick(ctx, granted)
	}
	return a.hub.client.Acquire(ctx, a.start.Name, cluster.AcquireOptions{
		Info: a.start.Info, OnAcked: a.acked, FailStop: func() { notify(a.failStop) },
		Floor: a.start.Floor, Wait: a.start.Wait != 0, Limit: a.start.Limit,
		OnDelay: func(d time.Duration) { granted(); a.out.say(wire.Message{Kind: wire.Delayed, Limit: d}) },
		OnWait: func(h *cluster.HeldError) {
			a.out.say(a.hub.conceal(a, wire.Message{Kind: wire.Waiting, Info: h.Info, Token: h.Token}))
		},
	})
}

// unwanted gives back what the client may have got meanwhile.
func (a *agent) unwanted(ctx context.Context, cancel context.CancelCauseFunc, done <-chan error) error {
	cancel(nil)
	err := <-done
	if err == nil {
		err = errors.Join(context.Canceled, a.lease.Release(context.WithoutCancel(ctx)))
	}
	return err
}

// hold keeps the lock until the run gives it back, is dead, or has lost it.
func (a *agent) hold(ctx context.Context) error {
	told, killed, stopping := a.lease.Context().Done(), a.lease.Killed(), a.guest.stopping()
	var again <-chan time.Time
	for {
		select {
		case <-told:
			told = nil
			a.forget()
			a.out.say(wire.Message{Kind: wire.Told, Text: why(context.Cause(a.lease.Context()))})
		case <-stopping:
			stopping = nil
			a.out.say(wire.Message{Kind: wire.Told, Text: "the agent of this host is being stopped"})
		case <-killed:
			killed = nil
			a.out.say(wire.Message{Kind: wire.Kill})
			a.guard.Kill(ctx)
			again = time.After(killAgain)
		case <-again:
			if !a.guard.Gone(ctx) {
				a.guard.Kill(ctx)
			}
			again = time.After(killAgain) // a run that wakes up may start anew
		case <-a.failStop:
			return a.stopAll(ctx)
		case m, ok := <-a.in:
			switch {
			case !ok:
				return a.orphaned(ctx)
			case m.Kind == wire.Release:
				return a.release(ctx)
			case m.Kind == wire.Tree:
				if err := a.guard.Watch(m.PID, m.Start, m.Cgroup); err != nil {
					return errors.Join(err, a.stopAll(ctx))
				}
			}
		}
	}
}

// stopAll is the last resort: the time is over and the run has not given the lock back. The agent of a host goes on until
// all is gone: the lease of others is renewed on, and the lock with it, so that nobody else gets that meanwhile.
func (a *agent) stopAll(ctx context.Context) error {
	a.guard.FailStop(ctx)
	for !a.stop(ctx, 0) {
		if a.guest == nil {
			a.end(ctx)
			return fmt.Errorf("%w, and some of its processes cannot be killed", ErrLost)
		}
		<-time.After(killAgain)
	}
	a.release(ctx) // if it can be: what is gone or cannot be reached runs out by itself
	a.end(ctx)
	return ErrLost
}

// stop stops the tree for as long as makes sense.
func (a *agent) stop(ctx context.Context, grace time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, a.patience())
	defer cancel()
	return a.guard.Stop(ctx, grace)
}

func (a *agent) patience() time.Duration { return lastWords * time.Duration(a.ttl.Load()) }

// orphaned stops what a dead run has left, and gives the lock back if nothing is left of it.
func (a *agent) orphaned(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.patience())
	defer cancel()
	go func() {
		select {
		case <-a.failStop:
			cancel()
		case <-ctx.Done():
		}
	}()
	left := time.Duration(a.sent.Load()) + lease.TimesOf(time.Duration(a.ttl.Load())).Kill - cluster.SystemClock().Now()
	grace := a.start.Grace
	if grace == 0 {
		grace = time.Duration(a.ttl.Load()) / 5
	}
	if a.guard.Stop(ctx, max(0, min(grace, left))) {
		return a.release(ctx)
	}
	return a.stopAll(context.WithoutCancel(ctx))
}

// release gives the lock back: all has ended.
func (a *agent) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(a.ttl.Load())/2)
	defer cancel()
	m := wire.Message{Kind: wire.Released}
	if err := errors.Join(a.lease.Release(ctx), a.hub.leave(ctx, a)); err != nil {
		m.Text = err.Error()
	}
	a.out.say(m)
	return nil
}

// end ends the client. What an attempt has left at the engine is given back; a lock that is held is not.
func (a *agent) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	a.hub.leave(ctx, a)
}
