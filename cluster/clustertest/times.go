package clustertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/solehold/solehold/cluster"
)

// goneNotRenewed ends a lease from another side where that can be done, else lets it run out.
func goneNotRenewed(s *suite) {
	session := s.sessionOf(s.backend(), s.e.TTL)
	c, _ := s.claim(session, "n1")
	other := s.session()
	s.eventually("the lease runs out", func() bool {
		g, err := other.Claim(s.ctx, s.request("n2"))
		return err == nil && g.Token > c.Token
	})
	gone, err := session.Renew(s.ctx)
	if err == nil && !slices.Contains(gone, c.Nonce) || err != nil && !errors.Is(err, cluster.ErrLeaseGone) {
		s.Errorf("a renewal after the end: %v, %v", gone, err)
	}
	if gone, err = session.Verify(s.ctx, []cluster.Claim{c}); err == nil && !slices.Contains(gone, c.Nonce) {
		s.Errorf("verified after the end: %v", gone)
	}
	s.must(session.Release(s.ctx, c, true))
	if _, err := other.Claim(s.ctx, s.request("n3")); !errors.Is(err, cluster.ErrHeld) {
		s.Errorf("a release after the end gave away the lock of the next owner: %v", err)
	}
}

func runsOut(s *suite) {
	other := s.session()
	begin := time.Now()
	session := s.sessionOf(s.backend(), s.e.TTL)
	s.claim(session, "n1")
	s.eventually("the lease runs out", func() bool {
		_, err := other.Claim(s.ctx, s.request("n2"))
		return err == nil
	})
	took := time.Since(begin)
	s.Logf("a lease of %v was given away after %s", session.TTL(), describe(took))
	if took < session.TTL()*9/10 {
		s.Errorf("given away after %v of %v", took, session.TTL())
	}
}

func closedNotRevoked(s *suite) {
	b, other := s.e.New(s.T), s.session()
	s.claim(s.sessionOf(b, 30*time.Second), "n1")
	s.must(b.Close())
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 6 {
		if _, err := other.Claim(s.ctx, s.request("n2")); !errors.Is(err, cluster.ErrHeld) {
			s.Fatalf("a lock whose holder may still work: %v", err)
		}
		<-tick.C
	}
}

func livesOn(s *suite) {
	session := s.sessionOf(s.backend(), s.e.TTL)
	c, _ := s.claim(session, "n1")
	other := s.session()
	tick := time.NewTicker(session.TTL() / 5)
	defer tick.Stop()
	for range 10 {
		<-tick.C
		gone, err := session.Renew(s.ctx)
		if err != nil || len(gone) > 0 {
			s.Fatal(gone, err)
		}
	}
	if gone, err := session.Verify(s.ctx, []cluster.Claim{c}); err != nil || len(gone) > 0 {
		s.Fatal(gone, err)
	}
	if _, err := other.Claim(s.ctx, s.request("n2")); !errors.Is(err, cluster.ErrHeld) {
		s.Fatal(err)
	}
}

func deleteSeen(s *suite) {
	b := s.backend()
	client := s.client(b)
	l, err := client.Acquire(s.ctx, s.name(), cluster.AcquireOptions{})
	s.must(err)
	begin := time.Now()
	s.e.Break(s, s.name())
	select {
	case <-l.Context().Done():
	case <-s.ctx.Done():
		s.Fatal("the holder was never told that its claim was deleted")
	}
	took := time.Since(begin)
	s.Logf("told %s after the delete (push: %v)", describe(took), b.Traits().Push)
	var lost *cluster.LostError
	if !errors.As(context.Cause(l.Context()), &lost) || lost.Token != l.Token() || l.Check() == nil {
		s.Errorf("cause %v, check %v", context.Cause(l.Context()), l.Check())
	}
	s.must(l.Release(s.ctx))
}

// waitingKeeps lets a client that has a lock wait for many others: what waits must not take from a renewal what it needs.
func waitingKeeps(s *suite) {
	mine, other := s.client(s.backend()), s.client(s.backend())
	l, err := mine.Acquire(s.ctx, s.name(), cluster.AcquireOptions{})
	s.must(err)
	var names []string
	for i := range 24 {
		names = append(names, fmt.Sprint(s.name(), "/", i))
	}
	taken, errs := other.AcquireEach(s.ctx, names, cluster.AcquireOptions{})
	s.must(errors.Join(errs...))
	ctx, giveUp := context.WithCancel(s.ctx)
	defer giveUp()
	got := make(chan string, len(names))
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			if l, err := mine.Acquire(ctx, name, cluster.AcquireOptions{Wait: true}); err == nil {
				got <- l.Name()
				l.Release(s.ctx)
			}
		})
	}
	select {
	case <-l.Context().Done():
		s.Error(context.Cause(l.Context()))
	case name := <-got:
		s.Errorf("%s has two owners", name)
	case <-time.After(2 * s.e.TTL):
	}
	for _, t := range taken[:3] {
		s.must(t.Release(s.ctx))
		select {
		case name := <-got:
			if name != t.Name() {
				s.Errorf("got %s after the release of %s", name, t.Name())
			}
		case <-s.ctx.Done():
			s.Fatal("nobody got", t.Name())
		}
	}
	giveUp()
	all.Wait()
	for _, l := range append(taken[3:], l) {
		s.must(l.Release(s.ctx))
	}
}

// waiterWakes measures the hand-off. It reports figures and asserts none: a loaded machine is slow.
func waiterWakes(s *suite) {
	a, b := s.client(s.backend()), s.client(s.backend())
	var took []time.Duration
	for range 20 {
		l, err := a.Acquire(s.ctx, s.name(), cluster.AcquireOptions{Wait: true})
		s.must(err)
		waits := make(chan struct{}, 100)
		got := make(chan time.Time, 1)
		go func() {
			l, err := b.Acquire(s.ctx, s.name(), cluster.AcquireOptions{Wait: true, OnWait: func(*cluster.HeldError) { waits <- struct{}{} }})
			if err == nil {
				got <- time.Now()
				l.Release(s.ctx)
			}
			close(got)
		}()
		select {
		case <-waits:
		case <-s.ctx.Done():
			s.Fatal("it does not wait")
		}
		<-time.After(5 * time.Millisecond) // as in the figures of others: queued 5 ms before
		begin := time.Now()
		s.must(l.Release(s.ctx))
		at, ok := <-got
		if !ok {
			s.Fatal("the waiter did not get the lock")
		}
		took = append(took, at.Sub(begin))
	}
	slices.Sort(took)
	s.Logf("from the call of Release to the waiter's ownership: p50 %s, max %s", describe(took[len(took)/2]), describe(took[len(took)-1]))
}

// waitersDrain lets waiters have the lock, of whom the first one and one in the middle give up. One client waits twice, and
// who does not wait may come between.
func waitersDrain(s *suite) {
	const waiters = 8
	owner := s.client(s.backend())
	l, err := owner.Acquire(s.ctx, s.name(), cluster.AcquireOptions{})
	s.must(err)
	var h History
	begin := time.Now()
	now := func() time.Duration { return time.Since(begin) }
	done := make(chan error, waiters)
	var last *cluster.Client
	for i := range waiters {
		if i != waiters-1 {
			last = s.client(s.backend())
		}
		client, ctx := last, s.ctx
		if i == 0 || i == waiters/2 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(s.ctx)
			defer cancel()
			<-s.waits(ctx, client, func(cluster.Lease, error) { done <- nil })
			cancel()
			continue
		}
		called := now()
		<-s.waits(ctx, client, func(l cluster.Lease, err error) {
			if err == nil {
				t := Tenure{Client: i, Name: s.name(), Token: l.Token(), Called: called, Owned: now()}
				t.Acted = now()
				if err = l.Release(s.ctx); err == nil {
					t.Released = now()
				}
				h.Add(t)
			}
			done <- err
		})
	}
	released := now()
	s.must(l.Release(s.ctx))
	if l, err := owner.Acquire(s.ctx, s.name(), cluster.AcquireOptions{}); err == nil {
		s.must(l.Release(s.ctx))
	} else if !errors.Is(err, cluster.ErrHeld) {
		s.Error(err)
	}
	for range waiters {
		s.must(<-done)
	}
	s.Logf("%d waiters drained in %s", h.Len(), describe(now()-released))
	if err := h.Check(); err != nil || h.Len() != waiters-2 {
		s.Errorf("%d owners: %v", h.Len(), err)
	}
}

// waits begins to wait for the lock of this clause, and gives what is closed when it does.
func (s *suite) waits(ctx context.Context, c *cluster.Client, then func(cluster.Lease, error)) <-chan struct{} {
	begun := make(chan struct{})
	once := sync.OnceFunc(func() { close(begun) })
	go func() {
		then(c.Acquire(ctx, s.name(), cluster.AcquireOptions{Wait: true, OnWait: func(*cluster.HeldError) { once() }}))
	}()
	return begun
}

func contextHonoured(s *suite) {
	b, cut, heal := s.e.NewCut(s)
	defer b.Close()
	defer heal()
	session := s.sessionOf(b, 30*time.Second)
	c, _ := s.claim(session, "n1")
	cut()
	for what, do := range map[string]func(context.Context) error{
		"claim":   func(ctx context.Context) error { _, err := session.Claim(ctx, s.request("n2")); return err },
		"renew":   func(ctx context.Context) error { _, err := session.Renew(ctx); return err },
		"verify":  func(ctx context.Context) error { _, err := session.Verify(ctx, []cluster.Claim{c}); return err },
		"release": func(ctx context.Context) error { return session.Release(ctx, c, true) },
		"wait": func(ctx context.Context) error {
			return session.Wait(ctx, &cluster.HeldError{Name: c.Name, Key: c.Name})
		},
	} {
		ctx, cancel := context.WithTimeout(s.ctx, 50*time.Millisecond)
		begin := time.Now()
		err := do(ctx)
		if took := time.Since(begin); err == nil || took > 3*time.Second {
			s.Errorf("%s: %v after %s", what, err, describe(took))
		}
		cancel()
	}
}

// toldBefore cuts a holder off while somebody waits for its lock.
func toldBefore(s *suite) {
	b, cut, heal := s.e.NewCut(s)
	holder, next := s.client(b), s.client(s.backend())
	defer heal()
	l, err := holder.Acquire(s.ctx, s.name(), cluster.AcquireOptions{})
	s.must(err)
	taken := make(chan time.Time, 1)
	go func() {
		l, err := next.Acquire(s.ctx, s.name(), cluster.AcquireOptions{Wait: true})
		if err != nil {
			s.Error(err)
			close(taken)
			return
		}
		taken <- time.Now()
		l.Release(s.ctx)
	}()
	cut()
	var told, killed, given time.Time
	for told.IsZero() || killed.IsZero() || given.IsZero() {
		contextDone, killedDone := l.Context().Done(), l.Killed()
		if !told.IsZero() {
			contextDone = nil
		}
		if !killed.IsZero() {
			killedDone = nil
		}
		select {
		case <-contextDone:
			told = time.Now()
		case <-killedDone:
			killed = time.Now()
		case at, ok := <-taken:
			if !ok {
				s.Fatal("the next owner did not get the lock")
			}
			given, taken = at, nil
		}
	}
	s.Logf("told %s before the next owner, killed %s before it", describe(given.Sub(told)), describe(given.Sub(killed)))
	if !told.Before(given) || !killed.Before(given) {
		s.Error("two owners")
	}
}

func nothingStarted(s *suite) {
	b, cut, heal := s.e.NewCut(s)
	defer heal()
	client := s.client(b)
	cut()
	ctx, cancel := context.WithTimeout(s.ctx, 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	l, err := client.Acquire(ctx, s.name(), cluster.AcquireOptions{Wait: true})
	if took := time.Since(begin); err == nil || errors.Is(err, cluster.ErrHeld) || took > 3*time.Second {
		s.Errorf("%v, %v after %s", l, err, describe(took))
	}
}

// histories lets clients compete for a few locks.
func histories(s *suite) {
	var h History
	begin := time.Now()
	now := func() time.Duration { return time.Since(begin) }
	limit := max(time.Second, time.Duration(20*Soak()*float64(time.Second)))
	done := make(chan error)
	const clients = 4
	for i := range clients {
		client := s.client(s.backend())
		go func() {
			var err error
			for n := 0; now() < limit && err == nil; n++ {
				name := s.name() + []string{"/x", "/y"}[(n+i)%2]
				err = once(s.ctx, client, &h, attempt{i, name, n%3 == 0, now})
			}
			done <- err
		}()
	}
	for range clients {
		if err := <-done; err != nil {
			s.Error(err)
		}
	}
	s.Logf("%d tenures of %d clients in %s", h.Len(), clients, describe(now()))
	if err := h.Check(); err != nil {
		s.Error(err)
	}
}

// attempt is one try of a client.
type attempt struct {
	client int
	name   string
	wait   bool
	now    func() time.Duration
}

// once takes a lock and gives it back.
func once(ctx context.Context, c *cluster.Client, h *History, a attempt) error {
	called := a.now()
	l, err := c.Acquire(ctx, a.name, cluster.AcquireOptions{Wait: a.wait})
	if errors.Is(err, cluster.ErrHeld) {
		h.Refused(Refusal{a.client, a.name, called, a.now()})
		return nil
	}
	if err != nil {
		return err
	}
	t := Tenure{Client: a.client, Name: a.name, Token: l.Token(), Called: called, Owned: a.now()}
	if err := l.Check(); err != nil {
		return err
	}
	t.Acted = a.now()
	if err := l.Release(ctx); err == nil {
		t.Released = a.now()
	}
	h.Add(t)
	return nil
}
