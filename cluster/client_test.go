package cluster_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/solehold/solehold/cluster"
)

// client makes a client in a bubble.
func client(t *testing.T, b cluster.Backend, o cluster.Options) *cluster.Client {
	t.Helper()
	if o.TTL == 0 {
		o.TTL = 10 * time.Second
	}
	if o.Clock == nil {
		o.Clock = cluster.NewProcessClock()
	}
	c, err := cluster.New(b, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func closed(t *testing.T, c *cluster.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
}

// TestDeadlines gives a silent engine and looks at each deadline.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan uint64, 1)
		b := cluster.NewMemory().Client(nil)
		c := client(t, b, cluster.Options{FailStop: func(_ string, token uint64) { stopped <- token }})
		l, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(4 * time.Second) // renewed at 2 s and now
		synctest.Wait()
		b.Cut(true)
		begin := time.Now()
		if err := l.Check(); err != nil {
			t.Error(err)
		}
		after := func(what string, want time.Duration) {
			if got := time.Since(begin); got != want {
				t.Errorf("%s after %v, want %v", what, got, want)
			}
		}
		<-l.Context().Done()
		after("told", 6*time.Second)
		var lost *cluster.LostError
		if err := l.Check(); !errors.As(err, &lost) || lost.Name != "a" || !strings.Contains(err.Error(), "0.60") {
			t.Error(err)
		}
		<-l.Killed()
		after("killed", 8*time.Second)
		if token := <-stopped; token != l.Token() {
			t.Error(token)
		}
		after("stopped", 9*time.Second)
		l.Release(t.Context())
		closed(t, c)
	})
}

// TestRidesOutOutage keeps its lock over an outage that is shorter than 0.3 of the time to live.
func TestRidesOutOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := cluster.NewMemory().Client(nil)
		c := client(t, b, cluster.Options{})
		l, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			b.Cut(true)
			<-time.After(2900 * time.Millisecond)
			b.Cut(false)
			<-time.After(7100 * time.Millisecond)
			if err := l.Check(); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		closed(t, c)
	})
}

// TestWaitsOverOutage goes on waiting with a new lease when the engine was away.
func TestWaitsOverOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := cluster.NewMemory().Client(nil)
		c := client(t, b, cluster.Options{})
		b.Cut(true)
		time.AfterFunc(time.Minute, func() { b.Cut(false) })
		l, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{Wait: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		closed(t, c)
	})
}

// TestNoEngine starts nothing.
func TestNoEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := cluster.NewMemory().Client(nil)
		c := client(t, b, cluster.Options{})
		b.Cut(true)
		begin := time.Now()
		_, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{})
		if err == nil || errors.Is(err, cluster.ErrHeld) || time.Since(begin) != 6*time.Second {
			t.Error(err, time.Since(begin))
		}
		closed(t, c)
	})
}

// TestLostAnswer has the claim made and the answer lost: it is asked for again and is ours.
func TestLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults, err := cluster.ParseFaults("claim.answer lost 1-2")
		if err != nil {
			t.Fatal(err)
		}
		c := client(t, cluster.NewMemory().Client(faults), cluster.Options{})
		l, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		closed(t, c)
	})
}

// TestCancelledClaim leaves nothing behind when its caller gives up before the answer.
func TestCancelledClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := cluster.NewMemory()
		faults, err := cluster.ParseFaults("claim.answer lost 1; claim.request late 1s 1")
		if err != nil {
			t.Fatal(err)
		}
		c := client(t, m.Client(faults), cluster.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := c.Acquire(ctx, "a", cluster.AcquireOptions{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		other := client(t, m.Client(nil), cluster.Options{})
		begin := time.Now()
		l, err := other.Acquire(t.Context(), "a", cluster.AcquireOptions{Wait: true})
		if err != nil || time.Since(begin) > 5*time.Second {
			t.Error(err, time.Since(begin))
		}
		l.Release(t.Context())
		closed(t, other)
		closed(t, c)
	})
}

// TestFloor refuses a token that does not rise.
func TestFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := cluster.NewMemory()
		c := client(t, m.Client(nil), cluster.Options{})
		if _, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{Floor: 1000}); !errors.Is(err, cluster.ErrToken) {
			t.Error(err)
		}
		l, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{Wait: true})
		if err != nil {
			t.Fatal(err)
		}
		l.Release(t.Context())
		closed(t, c)
	})
}

// TestLockDelay waits when the predecessor left without a release, and not after one.
func TestLockDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := cluster.NewMemory()
		a, b := client(t, m.Client(nil), cluster.Options{}), client(t, m.Client(nil), cluster.Options{})
		l, err := a.Acquire(t.Context(), "a", cluster.AcquireOptions{})
		if err != nil {
			t.Fatal(err)
		}
		m.Break("a")
		begin := time.Now()
		next, err := b.Acquire(t.Context(), "a", cluster.AcquireOptions{Wait: true})
		if err != nil || time.Since(begin) != 2*time.Second {
			t.Error(err, time.Since(begin))
		}
		l.Release(t.Context())
		next.Release(t.Context())
		begin = time.Now()
		l, err = a.Acquire(t.Context(), "a", cluster.AcquireOptions{})
		if err != nil || time.Since(begin) != 0 {
			t.Error(err, time.Since(begin))
		}
		l.Release(t.Context())
		closed(t, a)
		closed(t, b)
	})
}

// stoppedClock is a machine that was paused with its clock: the time of day jumps when it goes on.
type stoppedClock struct {
	*cluster.ProcessClock
	jump atomic.Int64
}

func (c *stoppedClock) Wall() time.Duration { return c.Now() + time.Duration(c.jump.Load()) }

// TestDoubt freezes the work when the clock may have stood still, until the engine has confirmed the lease.
func TestDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var froze []bool
		b := cluster.NewMemory().Client(nil)
		clock := &stoppedClock{ProcessClock: cluster.NewProcessClock()}
		c := client(t, b, cluster.Options{Clock: clock, OnFreeze: func(_ string, on bool) { froze = append(froze, on) }})
		l, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b.Cut(true)
		clock.jump.Store(int64(time.Minute))
		<-time.After(2 * time.Second)
		synctest.Wait()
		if err := l.Check(); !errors.Is(err, cluster.ErrDoubt) || len(froze) != 1 || !froze[0] {
			t.Error(err, froze)
		}
		b.Cut(false)
		<-time.After(1500 * time.Millisecond)
		synctest.Wait()
		if err := l.Check(); err != nil || len(froze) != 2 || froze[1] {
			t.Error(err, froze)
		}
		l.Release(t.Context())
		closed(t, c)
	})
}

// TestClockAnHourOff keeps a lock on a machine whose time of day is wrong: nothing but a jump of it says anything.
func TestClockAnHourOff(t *testing.T) {
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			m := cluster.NewMemory()
			clock := &stoppedClock{ProcessClock: cluster.NewProcessClock()}
			clock.jump.Store(int64(off))
			c := client(t, m.Client(nil), cluster.Options{Clock: clock, OnFreeze: func(string, bool) { t.Error("in doubt") }})
			l, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{})
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute)
			if err := l.Check(); err != nil {
				t.Error(err)
			}
			other := client(t, m.Client(nil), cluster.Options{})
			if _, err := other.Acquire(t.Context(), "a", cluster.AcquireOptions{}); !errors.Is(err, cluster.ErrHeld) {
				t.Error(err)
			}
			clock.jump.Store(min(int64(off), 0)) // set back where it was ahead; the other way is a doubt: see TestDoubt
			<-time.After(time.Minute)
			if err := l.Check(); err != nil {
				t.Error("after it was set right: ", err)
			}
			l.Release(t.Context())
			closed(t, c)
			closed(t, other)
		})
	}
}

// TestLimit answers in time when the engine is silent, and does not count the lock-delay.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := cluster.NewMemory()
		b := m.Client(nil)
		b.Cut(true)
		c, begin := client(t, b, cluster.Options{TTL: time.Minute}), time.Now()
		_, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{Limit: 4 * time.Second})
		if took := time.Since(begin); !errors.Is(err, cluster.ErrSilent) || errors.Is(err, cluster.ErrHeld) || took != 4*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		closed(t, c)
		crashed, err := m.Client(nil).Grant(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := crashed.Claim(t.Context(), cluster.Request{Name: "a", Nonce: "n", Delay: 10 * time.Second}); err != nil {
			t.Fatal(err)
		}
		if err := crashed.Revoke(t.Context()); err != nil {
			t.Fatal(err)
		}
		next := client(t, m.Client(nil), cluster.Options{})
		begin = time.Now()
		var delays []time.Duration
		l, err := next.Acquire(t.Context(), "a", cluster.AcquireOptions{Limit: 4 * time.Second, OnDelay: func(d time.Duration) { delays = append(delays, d) }})
		if err != nil || time.Since(begin) != 10*time.Second || len(delays) != 1 || delays[0] != 10*time.Second {
			t.Fatalf("after %v, delays %v: %v", time.Since(begin), delays, err)
		}
		l.Release(t.Context())
		closed(t, next)
	})
}

// TestAgainAfterBreak takes a lock again with the same client while the owner before, whose claim was broken, still works:
// that its claim is gone says nothing about the new one.
func TestAgainAfterBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := cluster.NewMemory()
		c := client(t, m.Client(nil), cluster.Options{})
		before, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{})
		if err != nil {
			t.Fatal(err)
		}
		m.Break("a")
		l, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{Wait: true})
		if err != nil {
			t.Fatal(err)
		}
		if before.Check() == nil || l.Token() <= before.Token() {
			t.Error(before.Check(), l.Token())
		}
		<-time.After(2 * time.Minute) // the claims are looked at every 6 s
		if err := l.Check(); err != nil {
			t.Error(err)
		}
		before.Release(t.Context())
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		closed(t, c)
	})
}

// TestCloseKeepsDeadlines closes a client whose holder does not let go: it is killed and fail-stopped in time, and nobody
// owns the lock before.
func TestCloseKeepsDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := cluster.NewMemory()
		begin := time.Now()
		var stop atomic.Int64
		c := client(t, m.Client(nil), cluster.Options{Grace: 2 * time.Second, FailStop: func(string, uint64) { stop.Store(int64(time.Since(begin))) }})
		l, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || l.Check() == nil {
			t.Error(err, l.Check())
		}
		other := client(t, m.Client(nil), cluster.Options{})
		next, err := other.Acquire(t.Context(), "a", cluster.AcquireOptions{Wait: true})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-l.Killed():
		default:
			t.Error("two owners: the first was not killed")
		}
		stopped := time.Duration(stop.Load())
		if owned := time.Since(begin); stopped == 0 || stopped > 9*time.Second || owned < 10*time.Second {
			t.Errorf("fail-stopped after %v, owned by the next after %v", stopped, owned)
		}
		l.Release(t.Context())
		if err := next.Release(t.Context()); err != nil {
			t.Error(err)
		}
		closed(t, other)
	})
}

// brokenWait is an engine that cannot say when a lock becomes free.
type brokenWait struct {
	*cluster.MemoryClient
	waits *int
}

type brokenSession struct {
	cluster.Session
	waits *int
}

func (b brokenWait) Grant(ctx context.Context, ttl time.Duration) (cluster.Session, error) {
	s, err := b.MemoryClient.Grant(ctx, ttl)
	return brokenSession{s, b.waits}, err
}

func (s brokenSession) Wait(context.Context, *cluster.HeldError) error {
	*s.waits++
	return errors.New("the connection is broken")
}

// TestWaitsWithoutWord goes on waiting, at a pace, where the engine cannot say when a lock becomes free.
func TestWaitsWithoutWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := cluster.NewMemory()
		first := client(t, m.Client(nil), cluster.Options{})
		l, err := first.Acquire(t.Context(), "a", cluster.AcquireOptions{})
		if err != nil {
			t.Fatal(err)
		}
		waits := 0
		c := client(t, brokenWait{m.Client(nil), &waits}, cluster.Options{})
		time.AfterFunc(20*time.Second, func() { l.Release(context.Background()) })
		next, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{Wait: true})
		if err != nil {
			t.Fatal(err)
		}
		if waits < 10 || waits > 21 {
			t.Errorf("asked again %d times in 20 s", waits)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		if _, err := first.Acquire(ctx, "a", cluster.AcquireOptions{Wait: true}); !errors.Is(err, cluster.ErrHeld) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("when its context ends a waiter says who has the lock: %v", err)
		}
		if err := next.Release(t.Context()); err != nil {
			t.Error(err)
		}
		closed(t, first)
		closed(t, c)
	})
}

// TestClose tells the holders and gives the lease back when they have let go.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := cluster.NewMemory()
		c := client(t, m.Client(nil), cluster.Options{})
		l, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			<-l.Context().Done()
			l.Release(context.Background())
		}()
		closed(t, c)
		if _, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{}); !errors.Is(err, cluster.ErrClosed) {
			t.Error(err)
		}
		other := client(t, m.Client(nil), cluster.Options{})
		next, err := other.Acquire(t.Context(), "a", cluster.AcquireOptions{})
		if err != nil {
			t.Fatal(err)
		}
		next.Release(t.Context())
		closed(t, other)
	})
}

// TestEachLockHasItsOwnHooks gives each lock of a client its label, the acknowledgements of the lease that it hangs on and
// no other, and its own last resort.
func TestEachLockHasItsOwnHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := cluster.NewMemory()
		b := m.Client(nil)
		c := client(t, b, cluster.Options{Info: "of the client"})
		acked, stopped := map[string]int{}, map[string]int{}
		var mu sync.Mutex
		take := func(name, info string) cluster.Lease {
			t.Helper()
			count := func(in map[string]int) { mu.Lock(); defer mu.Unlock(); in[name]++ }
			l, err := c.Acquire(t.Context(), name, cluster.AcquireOptions{
				Info:    info,
				OnAcked: func(time.Duration, time.Duration) { count(acked) }, FailStop: func() { count(stopped) },
			})
			if err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if acked[name] == 0 {
				t.Errorf("%s: nothing was acknowledged before it was owned", name)
			}
			return l
		}
		a, other := take("a", "of a"), take("b", "")
		for name, want := range map[string]string{"a": "of a", "b": "of the client"} {
			rival := client(t, m.Client(nil), cluster.Options{})
			_, err := rival.Acquire(t.Context(), name, cluster.AcquireOptions{})
			closed(t, rival)
			if held := (*cluster.HeldError)(nil); !errors.As(err, &held) || held.Info != want {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := other.Release(t.Context()); err != nil {
			t.Error(err)
		}
		b.Cut(true)
		<-a.Context().Done()
		told, released := acked["a"], acked["b"]
		b.Cut(false)
		next := take("c", "")
		<-time.After(20 * time.Second)
		synctest.Wait()
		if acked["a"] != told || acked["b"] != released || acked["c"] < 5 {
			t.Errorf("acknowledgements %v; there were %d and %d when they were over", acked, told, released)
		}
		if stopped["a"] != 1 || stopped["b"]+stopped["c"] != 0 {
			t.Errorf("the last resort of %v", stopped)
		}
		a.Release(t.Context())
		if err := next.Release(t.Context()); err != nil {
			t.Error(err)
		}
		closed(t, c)
	})
}
