package clustertest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/solehold/solehold/cluster"
)

// sticker is an engine with sticky claims. Every engine has them.
func (s *suite) sticker() cluster.Sticker {
	s.Helper()
	b, ok := s.backend().(cluster.Sticker)
	if !ok {
		s.Fatal("it is not a cluster.Sticker")
	}
	return b
}

// sticky is the request of a sticky claim.
func (s *suite) sticky(nonce string) cluster.Request {
	r := s.request(nonce)
	r.Place, r.Since = "place of "+nonce, "2026-01-02T03:04:05Z"
	return r
}

func stickyStays(s *suite) {
	a, b := s.sticker(), s.sticker()
	first, err := a.Stick(s.ctx, s.sticky("n1"))
	s.must(err)
	if !first.Clean || first.Token == 0 {
		s.Errorf("the first owner: %+v", first)
	}
	again, err := b.Stick(s.ctx, s.sticky("n1")) // of another client: nothing but the nonce tells
	s.must(err)
	if again.Token != first.Token || again.Clean {
		s.Errorf("first %+v, again %+v", first, again)
	}
	seen := s.look(a)
	if !seen.Held || !seen.Sticky || seen.Left != 0 || seen.Nonce != "n1" || seen.Place != "place of n1" || seen.Since != "2026-01-02T03:04:05Z" || seen.Token != first.Token {
		s.Errorf("%+v", seen)
	}
	s.must(a.Break(s.ctx, s.name(), first.Token, "by me"))
	if seen := s.look(b); seen.Held || seen.Sticky || seen.Broken != "by me" {
		s.Errorf("after a break: %+v", seen)
	}
	next, err := b.Stick(s.ctx, s.sticky("n2"))
	s.must(err)
	if next.Clean || next.Token <= first.Token || next.Delay != 2*time.Second {
		s.Errorf("after a break: %+v, before %+v", next, first)
	}
	if _, err := a.Stick(s.ctx, s.sticky("n1")); !errors.Is(err, cluster.ErrHeld) {
		s.Errorf("with the nonce of a broken claim: %v", err)
	}
}

func stickyAndLease(s *suite) {
	b, session := s.sticker(), s.session()
	g, err := b.Stick(s.ctx, s.sticky("n1"))
	s.must(err)
	var held *cluster.HeldError
	for _, nonce := range []string{"n2", "n1"} {
		if _, err := session.Claim(s.ctx, s.request(nonce)); !errors.As(err, &held) || !held.Sticky || held.Token != g.Token {
			s.Errorf("a claim with a lease and the nonce %s: %v", nonce, err)
		}
	}
	s.must(session.Release(s.ctx, cluster.Claim{Name: s.name(), Nonce: "n1", Token: g.Token}, true))
	s.must(session.Revoke(s.ctx))
	if seen := s.look(b); !seen.Held || seen.Token != g.Token {
		s.Fatalf("a lease has ended a sticky claim: %+v", seen)
	}
	s.must(b.Break(s.ctx, s.name(), g.Token, "by me"))
	s.claim(s.session(), "n3")
	for _, nonce := range []string{"n4", "n3"} {
		if _, err := b.Stick(s.ctx, s.sticky(nonce)); !errors.As(err, &held) || held.Sticky {
			s.Errorf("a sticky claim over one with a lease, nonce %s: %v", nonce, err)
		}
	}
	client := s.client(s.backend()) // waiting is of no use, so nobody waits
	r := s.sticky("n5")
	r.Name += "/other"
	_, err = b.Stick(s.ctx, r)
	s.must(err)
	if _, err := client.Acquire(s.ctx, r.Name, cluster.AcquireOptions{Wait: true}); !errors.As(err, &held) || !held.Sticky {
		s.Errorf("a waiter: %v", err)
	}
}

func stickyRefusal(s *suite) {
	b := s.sticker()
	g, err := b.Stick(s.ctx, s.sticky("n1"))
	s.must(err)
	before := ""
	if s.e.Writes != nil {
		before = s.e.Writes(s, s.name())
	}
	_, err = b.Stick(s.ctx, s.sticky("n2"))
	var held *cluster.HeldError
	if !errors.As(err, &held) || held.Info != "holder of n1" || held.Token != g.Token || !held.Sticky || held.Since != "2026-01-02T03:04:05Z" {
		s.Errorf("got %v", err)
	}
	if s.e.Writes != nil && s.e.Writes(s, s.name()) != before {
		s.Errorf("writes before %s, after %s", before, s.e.Writes(s, s.name()))
	}
}

func stickyNote(s *suite) {
	b := s.sticker()
	r := s.sticky("n1")
	g, err := b.Stick(s.ctx, r)
	s.must(err)
	c := cluster.Claim{Name: r.Name, Nonce: "n1", Token: g.Token}
	from := s.look(b).Note
	moved := cluster.RecordOf(r)
	moved.Place, moved.Seen, moved.DelayMS = "elsewhere", "2026-01-02T04:00:00Z", 7000
	for what, wrong := range map[string]struct {
		c    cluster.Claim
		from string
	}{
		"another token": {cluster.Claim{Name: r.Name, Nonce: "n1", Token: g.Token + 1}, from},
		"another nonce": {cluster.Claim{Name: r.Name, Nonce: "n2", Token: g.Token}, from},
		"another note":  {c, moved.Text()},
		"another lock":  {cluster.Claim{Name: r.Name + "/other", Nonce: "n1", Token: g.Token}, from},
	} {
		if err := b.Note(s.ctx, wrong.c, wrong.from, moved.Text()); !errors.Is(err, cluster.ErrNotThere) {
			s.Errorf("of %s: %v", what, err)
		}
	}
	s.must(b.Note(s.ctx, c, from, moved.Text()))
	if err := b.Note(s.ctx, c, from, moved.Text()); !errors.Is(err, cluster.ErrNotThere) {
		s.Errorf("a second one from the same: %v", err)
	}
	if seen := s.look(b); seen.Place != "elsewhere" || seen.SeenAt != "2026-01-02T04:00:00Z" || seen.Since != r.Since || seen.Token != g.Token {
		s.Errorf("%+v", seen)
	}
	s.must(b.Break(s.ctx, r.Name, g.Token, "by me"))
	if err := b.Note(s.ctx, c, moved.Text(), from); !errors.Is(err, cluster.ErrNotThere) {
		s.Errorf("after a break: %v", err)
	}
	if next, err := b.Stick(s.ctx, s.sticky("n2")); err != nil || next.Delay != 7*time.Second {
		s.Errorf("the successor of who had longer times in the end: %+v, %v", next, err)
	}
}

// start takes the sticky claim as a run does.
func (s *suite) start(b cluster.Backend, o cluster.StickyOptions) (*cluster.Sticky, error) {
	o.TTL, o.Grace, o.Info = s.e.TTL, s.e.TTL/10, "holder of "+o.Nonce
	l, err := cluster.Stick(s.ctx, b, s.name(), o)
	if err == nil {
		s.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), s.e.TTL)
			defer cancel()
			l.Release(ctx)
		})
	}
	return l, err
}

// told waits until a holder is told, and gives why. Nobody else may begin before.
func (s *suite) told(l *cluster.Sticky, begun <-chan error) string {
	s.Helper()
	select {
	case err := <-begun:
		s.Fatalf("the next one began before the holder was told: %v", err)
	case <-l.Context().Done():
	case <-s.ctx.Done():
		s.Fatal("the holder was not told")
	}
	var lost *cluster.LostError
	if cause := context.Cause(l.Context()); !errors.As(cause, &lost) {
		s.Fatalf("told: %v", cause)
	}
	return lost.Why
}

func stickyBroken(s *suite) {
	o := s.operator()
	a, err := s.start(s.backend(), cluster.StickyOptions{Nonce: "n1", Place: "p1"})
	s.must(err)
	s.must(a.Check())
	s.must(o.Break(s.ctx, s.name(), a.Token(), "by me: host is gone"))
	begun := make(chan error, 1)
	var b *cluster.Sticky
	go func() {
		var err error
		b, err = s.start(s.backend(), cluster.StickyOptions{Nonce: "n2", Place: "p2"})
		begun <- err
	}()
	if why := s.told(a, begun); !strings.Contains(why, "broken") {
		s.Error(why)
	}
	select {
	case <-a.Killed():
	case err := <-begun:
		s.Fatalf("the successor began before its predecessor had to be dead: %v", err)
	}
	s.must(<-begun)
	if b.Token() <= a.Token() || a.Check() == nil {
		s.Errorf("token %d after %d; %v", b.Token(), a.Token(), a.Check())
	}
	if _, err := s.start(s.backend(), cluster.StickyOptions{Nonce: "n1", Place: "p1", Token: a.Token(), Settled: true}); !errors.As(err, new(*cluster.LostError)) {
		s.Errorf("a start with a claim that is broken: %v", err)
	}
}

func stickyMoves(s *suite) {
	a, err := s.start(s.backend(), cluster.StickyOptions{Nonce: "n1", Place: "p1"})
	s.must(err)
	delayed := make(chan time.Duration, 1)
	begun := make(chan error, 1)
	go func() {
		_, err := s.start(s.backend(), cluster.StickyOptions{
			Nonce: "n1", Place: "p2", Places: []string{"p2", "p1"}, Token: a.Token(), OnDelay: func(d time.Duration) { delayed <- d },
		})
		begun <- err
	}()
	if why := s.told(a, begun); !strings.Contains(why, "copy") {
		s.Error(why)
	}
	select {
	case <-a.Killed():
	case err := <-begun:
		s.Fatalf("the copy began before who had the claim had to be dead: %v", err)
	}
	s.must(<-begun)
	if d := <-delayed; d < s.e.TTL {
		s.Errorf("waited for %v", d)
	}
	if _, err := s.start(s.backend(), cluster.StickyOptions{Nonce: "n1", Place: "p3", Places: []string{"p3", "p1"}, Token: a.Token()}); !errors.As(err, new(*cluster.LostError)) {
		s.Errorf("a copy from before the move: %v", err)
	}
}

func stickySilence(s *suite) {
	b, cut, heal := s.e.NewCut(s)
	s.Cleanup(func() { b.Close() })
	a, err := s.start(b, cluster.StickyOptions{Nonce: "n1", Place: "p1", Limit: patience})
	s.must(err)
	cut()
	failed := make(chan error, 64)
	away := cluster.StickyOptions{
		Nonce: "n1", Place: "p1", Token: a.Token(), Settled: true, Away: true, Limit: s.e.TTL / 2,
		OnFailed: func(err error) {
			select {
			case failed <- err:
			default:
			}
		},
	}
	again, err := s.start(b, away)
	s.must(err)
	for range 8 { // of TTL/5, or more
		select {
		case <-failed:
		case <-again.Context().Done():
			s.Fatalf("in silence: %v", again.Check())
		case <-s.ctx.Done():
			s.Fatal("the engine is not asked any more")
		}
	}
	if err := errors.Join(a.Check(), again.Check()); err != nil || again.Token() != a.Token() || again.Verified() {
		s.Errorf("in silence: %v, token %d after %d, verified %v", err, again.Token(), a.Token(), again.Verified())
	}
	away.Away = false
	if _, err := s.start(b, away); !errors.Is(err, cluster.ErrSilent) {
		s.Errorf("a start that may not begin in silence: %v", err)
	}
	away.Token, away.Away = 0, true
	if _, err := s.start(b, away); !errors.Is(err, cluster.ErrSilent) {
		s.Errorf("a start without a claim: %v", err)
	}
	heal()
	s.eventually("the engine is asked when it is back", again.Verified)
	s.must(again.Check())
}
