package etcd_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
)

// observed is a client whose claims are counted, by requests.
func observed(t *testing.T, host string) (*cluster.Client, *atomic.Int64) {
	t.Helper()
	var claims atomic.Int64
	b := cluster.Observe(backend(t, host), func(c cluster.Call) {
		if c.Op == cluster.OpClaim {
			claims.Add(1)
		}
	})
	c, err := cluster.New(b, cluster.Options{TTL: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(t.Context()) })
	return c, &claims
}

func named(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint("srv/", i))
	}
	return names
}

// release gives back what was taken, and returns the tokens.
func release(t *testing.T, leases []cluster.Lease, errs []error) (tokens map[uint64]int) {
	t.Helper()
	tokens = map[uint64]int{}
	for i, l := range leases {
		if errs[i] != nil {
			t.Errorf("%d: %v", i, errs[i])
			continue
		}
		tokens[l.Token()]++
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	return tokens
}

// A hundred free locks are one write of etcd, so that they have one token; more are as many as needed.
func TestHundredInOneTransaction(t *testing.T) {
	t.Parallel()
	c, claims := observed(t, addr(start(t, 1)[0]))
	for n, want := range map[int]int{2: 1, 100: 1, 250: 3} {
		claims.Store(0)
		leases, errs := c.AcquireEach(t.Context(), named(n), cluster.AcquireOptions{})
		if tokens := release(t, leases, errs); len(tokens) != want || claims.Load() != 1 {
			t.Errorf("%d locks: %d calls, tokens %v, want %d", n, claims.Load(), tokens, want)
		}
	}
}

// Of a hundred, one is held: it is refused, and the others are taken. Then it is known, and the others are one write again.
func TestOneOfAHundredIsHeld(t *testing.T) {
	t.Parallel()
	host := addr(start(t, 1)[0])
	mine, _ := observed(t, host)
	other, _ := observed(t, host)
	names := named(100)
	taken, err := other.Acquire(t.Context(), names[7], cluster.AcquireOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		leases, errs := mine.AcquireEach(t.Context(), names, cluster.AcquireOptions{})
		var held *cluster.HeldError
		if !errors.As(errs[7], &held) || held.Token != taken.Token() || leases[7] != nil {
			t.Errorf("round %d: %v", round, errs[7])
		}
		tokens := release(t, append(leases[:7:7], leases[8:]...), append(errs[:7:7], errs[8:]...))
		if round == 1 && len(tokens) != 1 {
			t.Errorf("what is known to be held was asked for with the others: %v", tokens)
		}
	}
	if err := taken.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, errs := mine.AcquireEach(t.Context(), names, cluster.AcquireOptions{}); got[7] == nil || got[7].Token() <= taken.Token() {
		t.Error("it is free and was not taken: ", errs[7])
	}
}

// Where the tokens of any lock were raised, each claim reads by how much; the others are as they were.
func TestEachWithRaisedTokens(t *testing.T) {
	t.Parallel()
	host := addr(start(t, 1)[0])
	c, _ := observed(t, host)
	operator := backend(t, host)
	defer operator.Close()
	const above = 1_000_000
	if err := operator.Raise(t.Context(), "srv/1", above); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		leases, errs := c.AcquireEach(t.Context(), named(3), cluster.AcquireOptions{Wait: true})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if leases[0].Token() >= above || leases[1].Token() <= above || leases[2].Token() >= above {
			t.Error(leases[0].Token(), leases[1].Token(), leases[2].Token())
		}
		release(t, leases, errs)
	}
}

// What a session has asked for already, and heard nothing of, is found again: several at once as well.
func TestEachIsIdempotent(t *testing.T) {
	t.Parallel()
	b := backend(t, addr(start(t, 1)[0]))
	defer b.Close()
	s, err := b.Grant(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var all []cluster.Request
	for _, name := range named(20) {
		all = append(all, cluster.Request{Name: name, Nonce: "of " + name, Delay: time.Second})
	}
	batcher := s.(cluster.Batcher)
	first := batcher.ClaimEach(t.Context(), all)
	for i, a := range batcher.ClaimEach(t.Context(), all) {
		if a.Err != nil || first[i].Err != nil || a.Grant.Token != first[i].Grant.Token || a.Grant.Clean || !first[i].Grant.Clean {
			t.Errorf("%d: %+v after %+v", i, a, first[i])
		}
	}
	all[0].Info = strings.Repeat("i", 1000)
	for i := range all {
		all[i].Nonce += " another"
	}
	for i, a := range batcher.ClaimEach(t.Context(), all) {
		if !errors.Is(a.Err, cluster.ErrHeld) {
			t.Errorf("%d: %+v", i, a)
		}
	}
}

// Callers that want the same lock before there is a lease ask at once, and are one after another owners of it.
func TestSameLockAtOnce(t *testing.T) {
	t.Parallel()
	c, _ := observed(t, addr(start(t, 1)[0]))
	var all sync.WaitGroup
	var owners atomic.Int64
	for range 5 {
		all.Go(func() {
			l, err := c.Acquire(t.Context(), "a", cluster.AcquireOptions{Wait: true})
			if err != nil {
				t.Error(err)
				return
			}
			if owners.Add(1) != 1 {
				t.Error("two owners")
			}
			owners.Add(-1)
			if err := l.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
