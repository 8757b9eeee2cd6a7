package clustertest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
)

// Engine is what is tested.
type Engine struct {
	// New connects one more client. The suite closes it.
	New func(t testing.TB) cluster.Backend
	// NewCut connects a client over a wire that can be cut: nothing passes any more, and connections stay open.
	NewCut func(t testing.TB) (b cluster.Backend, cut, heal func())
	// Break deletes the claim of a lock, as an operator would.
	Break func(t testing.TB, name string)
	// Plant puts something that solehold did not write where the claim of a lock would be: nothing at all, where that is
	// possible. nil where nobody can.
	Plant func(t testing.TB, name string)
	// Writes gives a text that changes with each write about a lock. nil where the engine does not tell.
	Writes func(t testing.TB, name string) string
	// Frail says that the server does not always survive a request that is given up: clauses that do this are left out.
	Frail bool
	// TTL is a time to live that is short, and long enough for a loaded machine. By default 2 s.
	TTL time.Duration
}

// patience bounds each wait: a loaded machine is slow.
const patience = 60 * time.Second

// clause is one sentence of the contract.
type clause struct {
	sentence string
	test     func(*suite)
}

// clauses gives the contract.
func clauses() []clause { return append(calm(), restless()...) }

// restless are clauses in which requests are given up while they are under way.
func restless() []clause {
	return []clause{
		{"a waiter wakes when the lock becomes free", waiterWakes},
		{"waiters get the lock one after the other, and nobody waits for who gave up", waitersDrain},
		{"who waits for many locks keeps those it has", waitingKeeps},
		{"the context is honoured while the engine is silent", contextHonoured},
		{"a sticky claim that is broken is free, its successor waits, and its holder is told and dead before", stickyBroken},
		{"a sticky claim is taken on at one place: a copy that comes is waited for, and who had it is told", stickyMoves},
		{"the holder of a sticky claim works on while the engine is silent, and starts again with its token", stickySilence},
		{"a holder is told before the engine gives its lock away", toldBefore},
		{"nothing is started while the engine is silent", nothingStarted},
		{"histories of many clients are those of one lock", histories},
		{"wires that are cut at random make no two owners", cuts},
	}
}

func calm() []clause {
	return []clause{
		{"tokens rise, also over a clean release", tokensRise},
		{"a claim is idempotent by its nonce", claimIdempotent},
		{"a claim with an unknown answer is found again or withdrawn", unknownAnswer},
		{"a refused claim writes nothing", refusedWritesNothing},
		{"a refusal names the holder", refusalNames},
		{"a release is conditional on nonce and token", releaseConditional},
		{"a release of a claim that is not ours confirms that", releaseOfNothing},
		{"a lock-delay is due unless the predecessor released cleanly", lockDelay},
		{"names with slashes, spaces and dots are locks of their own", names},
		{"what somebody else wrote is named and left alone", foreign},
		{"one lease carries many locks, and ends them all", manyLocks},
		{"of several locks that are asked for at once each is granted or refused by itself", eachByItself},
		{"a lease that is gone is not renewed", goneNotRenewed},
		{"a lease that is not renewed runs out, and not before its time", runsOut},
		{"a renewed lease lives on", livesOn},
		{"a client that closes without a release gives nothing away", closedNotRevoked},
		{"the delete of a claim is seen", deleteSeen},
		{"a look names the holder and takes nothing", lookTakesNothing},
		{"a claim that is broken is free, and its holder told", brokenIsFree},
		{"tokens that are raised are above a number, and rise on", raisedTokens},
		{"a sticky claim has no end by itself, and is given again to its nonce alone", stickyStays},
		{"a sticky claim refuses a claim with a lease, and a lease refuses a sticky claim", stickyAndLease},
		{"a refusal by a sticky claim names the holder and since when, and writes nothing", stickyRefusal},
		{"what lies beside a sticky claim changes only for its token, its nonce and what is there", stickyNote},
		{"each life of a lock is kept with its end, an expiry by the next owner", livesAreKept},
		{"the lives that are kept are bounded, and the last ones", livesAreBounded},
	}
}

// suite is one clause under test.
type suite struct {
	*testing.T
	e   Engine
	ctx context.Context
}

// Run gives an engine every clause.
func Run(t *testing.T, e Engine) {
	if e.TTL == 0 {
		e.TTL = 2 * time.Second
	}
	all := clauses()
	if e.Frail {
		all = calm()
	}
	for _, c := range all {
		t.Run(c.sentence, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			c.test(&suite{t, e, ctx})
		})
	}
}

// must ends the test on an error.
func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// name gives a lock of this clause.
func (s *suite) name() string { return s.Name() }

// session opens a lease on a client of its own, long enough for a clause that does not renew.
func (s *suite) session() cluster.Session {
	s.Helper()
	return s.sessionOf(s.backend(), 30*time.Second)
}

func (s *suite) backend() cluster.Backend {
	s.Helper()
	b := s.e.New(s.T)
	s.Cleanup(func() { b.Close() })
	return b
}

func (s *suite) sessionOf(b cluster.Backend, ttl time.Duration) cluster.Session {
	s.Helper()
	session, err := b.Grant(s.ctx, ttl)
	s.must(err)
	return session
}

// request is a claim with a nonce.
func (s *suite) request(nonce string) cluster.Request {
	return cluster.Request{Name: s.name(), Nonce: nonce, Delay: 2 * time.Second, Info: "holder of " + nonce}
}

// claim takes the lock of this clause.
func (s *suite) claim(session cluster.Session, nonce string) (cluster.Claim, cluster.Grant) {
	s.Helper()
	r := s.request(nonce)
	g, err := session.Claim(s.ctx, r)
	s.must(err)
	return cluster.Claim{Name: r.Name, Nonce: nonce, Token: g.Token}, g
}

// client makes a client with short times.
func (s *suite) client(b cluster.Backend) *cluster.Client {
	s.Helper()
	c, err := cluster.New(b, cluster.Options{TTL: s.e.TTL, Delay: s.e.TTL / 10, Grace: s.e.TTL / 10, Info: s.name()})
	s.must(err)
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.e.TTL)
		defer cancel()
		c.Close(ctx)
	})
	return c
}

// eventually waits until ok, or fails the test with what.
func (s *suite) eventually(what string, ok func() bool) {
	s.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			s.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// Soak scales how long random tests take: the value of SOLEHOLD_SOAK, 0.05 by default; 1 is the whole.
func Soak() float64 {
	f, err := strconv.ParseFloat(os.Getenv("SOLEHOLD_SOAK"), 64)
	if err != nil || f <= 0 {
		return 0.05
	}
	return f
}

// describe is for messages about times.
func describe(d time.Duration) string { return fmt.Sprint(d.Round(10 * time.Microsecond)) }
