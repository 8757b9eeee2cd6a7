package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func queueKey(name string) string { return "/test/dir/queue/" + cluster.EscapeName(name) + "/" }

// line is clients that wait for one lock of one server.
type line struct {
	*testing.T
	host string
	keys *clientv3.Client
	ctx  context.Context
	o    cluster.Options
}

func newLine(t *testing.T, host string, ttl time.Duration) *line {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return &line{t, host, raw(t, host), ctx, cluster.Options{TTL: ttl, Grace: ttl / 10, Delay: ttl / 10}}
}

func (l *line) client() *cluster.Client {
	l.Helper()
	c, err := cluster.New(backend(l, l.host), l.o)
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		c.Close(ctx)
	})
	return c
}

func (l *line) own() cluster.Lease {
	l.Helper()
	lease, err := l.client().Acquire(l.ctx, l.Name(), cluster.AcquireOptions{Wait: true})
	if err != nil {
		l.Fatal(err)
	}
	return lease
}

// wait begins to wait, and returns when its place is there. What comes of it is sent.
func (l *line) wait(ctx context.Context, c *cluster.Client) chan cluster.Lease {
	l.Helper()
	before := l.places()
	got := make(chan cluster.Lease, 1)
	go func() {
		lease, err := c.Acquire(ctx, l.Name(), cluster.AcquireOptions{Wait: true})
		if err != nil && ctx.Err() == nil {
			l.Error(err)
		}
		got <- lease
	}()
	l.until(before + 1)
	return got
}

func (l *line) places() int {
	l.Helper()
	answer, err := l.keys.Get(l.ctx, queueKey(l.Name()), clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		l.Fatal(err)
	}
	return int(answer.Count)
}

// until waits until there are so many places.
func (l *line) until(want int) {
	l.Helper()
	for n := -1; n != want; n = l.places() {
		if l.ctx.Err() != nil {
			l.Fatalf("%d places, want %d", n, want)
		}
	}
}

func (l *line) release(lease cluster.Lease) {
	l.Helper()
	if err := lease.Release(l.ctx); err != nil {
		l.Fatal(err)
	}
}

// Waiters get a lock in the order in which they came, and each costs the log two entries: its claim and its release. All of
// them woken at each release would be hundreds.
func TestQueue(t *testing.T) {
	t.Parallel()
	const waiters = 20
	server := start(t, 1)[0]
	l := newLine(t, addr(server), 60*time.Second)
	owner := l.own()
	var mu sync.Mutex
	var order []int
	var all sync.WaitGroup
	for i := range waiters {
		got := l.wait(l.ctx, l.client())
		all.Go(func() {
			if lease := <-got; lease != nil {
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				if err := lease.Release(l.ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	before := server.Server.AppliedIndex()
	l.release(owner)
	all.Wait()
	entries := server.Server.AppliedIndex() - before
	t.Logf("%d entries of the log for %d waiters, in this order: %v", entries, waiters, order)
	for i, n := range order {
		if i != n {
			t.Errorf("waiter %d is the owner number %d", n, i)
		}
	}
	if entries > 4*waiters {
		t.Errorf("%d entries of the log for %d waiters", entries, waiters)
	}
	l.until(0)
}

// A hundred locks that are asked for at once are claimed in few transactions, and so are their releases.
func TestHundred(t *testing.T) {
	t.Parallel()
	server := start(t, 1)[0]
	l := newLine(t, addr(server), 60*time.Second)
	c := l.client()
	l.release(l.own())
	before := server.Server.AppliedIndex()
	var leases [100]cluster.Lease
	var all sync.WaitGroup
	for i := range leases {
		all.Go(func() {
			var err error
			if leases[i], err = c.Acquire(l.ctx, fmt.Sprint("lock ", i), cluster.AcquireOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	claimed := server.Server.AppliedIndex() - before
	tokens := map[uint64]int{}
	for _, lease := range leases {
		all.Go(func() { lease.Release(l.ctx) })
		tokens[lease.Token()]++
	}
	all.Wait()
	released := server.Server.AppliedIndex() - before - claimed
	t.Logf("%d entries of the log for the claims, %d for the releases", claimed, released)
	if claimed > 60 || released > 60 { // few, however slow the machine is
		t.Error("each went alone")
	}
	for i := range leases { // their tokens rise, although some were claimed in one transaction
		next, err := c.Acquire(l.ctx, fmt.Sprint("lock ", i), cluster.AcquireOptions{Floor: leases[i].Token()})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() { next.Release(l.ctx) })
	}
	all.Wait()
}

// A try of a lock that is known to be held is a read: it does not reach the log.
func TestRefusedReads(t *testing.T) {
	t.Parallel()
	server := start(t, 1)[0]
	l := newLine(t, addr(server), 60*time.Second)
	owner, other := l.own(), l.client()
	try := func() error {
		lease, err := other.Acquire(l.ctx, l.Name(), cluster.AcquireOptions{})
		if err == nil {
			lease.Release(l.ctx)
		}
		return err
	}
	if err := try(); !errors.Is(err, cluster.ErrHeld) {
		t.Fatal(err)
	}
	before := server.Server.AppliedIndex()
	for range 20 {
		if err := try(); !errors.Is(err, cluster.ErrHeld) {
			t.Error(err)
		}
	}
	if n := server.Server.AppliedIndex() - before; n > 0 {
		t.Errorf("%d entries of the log", n)
	}
	l.release(owner)
	if err := try(); err != nil {
		t.Errorf("of a lock that is free again: %v", err)
	}
}

// Who gave up leaves the queue, and nobody waits for it.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	l := newLine(t, addr(start(t, 1)[0]), 60*time.Second)
	owner := l.own()
	ctx, cancel := context.WithCancel(l.ctx)
	first, second := l.wait(ctx, l.client()), l.wait(l.ctx, l.client())
	cancel()
	if lease := <-first; lease != nil {
		t.Fatal("an owner that gave up")
	}
	l.until(1)
	l.release(owner)
	l.release(<-second)
	l.until(0)
}

// A place of somebody who never comes withholds the lock from nobody: it is passed. Places grant nothing either.
func TestPassed(t *testing.T) {
	t.Parallel()
	l := newLine(t, addr(start(t, 1)[0]), 3*time.Second)
	owner := l.own()
	if _, err := l.keys.Put(l.ctx, queueKey(l.Name())+"0-frozen", ""); err != nil {
		t.Fatal(err)
	}
	waiting := l.wait(l.ctx, l.client())
	l.release(owner)
	next := <-waiting
	if next == nil || next.Token() <= owner.Token() {
		t.Fatalf("%v", next)
	}
	if _, err := l.client().Acquire(l.ctx, l.Name(), cluster.AcquireOptions{}); !errors.Is(err, cluster.ErrHeld) {
		t.Errorf("a second owner: %v", err)
	}
	l.release(next)
}

// An owner that has waited and whose claim is removed leaves the queue, so that the next one need not pass it: when an
// operator breaks the claim, and when its key is deleted. Its other locks keep the lease alive.
func TestBrokenOwnerLeavesTheQueue(t *testing.T) {
	t.Parallel()
	host := addr(start(t, 1)[0])
	for name, remove := range map[string]func(*line, uint64) error{
		"break": func(l *line, token uint64) error {
			b := backend(l, host)
			defer b.Close()
			return b.Break(l.ctx, l.Name(), token, "for a test")
		},
		"delete": func(l *line, _ uint64) error {
			_, err := l.keys.Delete(l.ctx, claimKey(l.Name()))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLine(t, host, 20*time.Second)
			first, c := l.own(), l.client()
			waiting := l.wait(l.ctx, c)
			l.release(first)
			broken := <-waiting
			if _, err := c.Acquire(l.ctx, strings.ToUpper(l.Name()), cluster.AcquireOptions{}); err != nil {
				t.Fatal(err)
			}
			l.until(1)
			if err := remove(l, broken.Token()); err != nil {
				t.Fatal(err)
			}
			<-broken.Context().Done()
			l.until(0)
			l.release(broken)
			if next := l.own(); next.Token() <= broken.Token() {
				t.Errorf("token %d after %d", next.Token(), broken.Token())
			}
		})
	}
}
