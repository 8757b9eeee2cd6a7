package clustertest

import (
	"context"
	"errors"

	"github.com/solehold/solehold/cluster"
)

// operator is the engine as a person uses it. Every engine has that.
func (s *suite) operator() cluster.Operator {
	s.Helper()
	o, ok := s.backend().(cluster.Operator)
	if !ok {
		s.Fatal("it is not a cluster.Operator")
	}
	return o
}

// look gives what there is of the lock of this clause.
func (s *suite) look(o cluster.Operator) cluster.Seen {
	s.Helper()
	all, err := o.Look(s.ctx, s.name())
	s.must(err)
	if len(all) == 0 {
		return cluster.Seen{}
	}
	if len(all) != 1 || all[0].Name != s.name() || all[0].Key == "" {
		s.Fatalf("%+v", all)
	}
	return all[0]
}

func lookTakesNothing(s *suite) {
	o, session := s.operator(), s.session()
	if seen := s.look(o); seen.Held || seen.Info != "" {
		s.Errorf("before anything: %+v", seen)
	}
	c, g := s.claim(session, "n1")
	for range 2 {
		if seen := s.look(o); !seen.Held || seen.Token != g.Token || seen.Highest != g.Token || seen.Info != "holder of n1" || seen.Foreign || seen.Ended || seen.Left < 0 {
			s.Errorf("of token %d: %+v", g.Token, seen)
		}
	}
	all, err := o.Look(s.ctx, "")
	s.must(err)
	found := false
	for _, seen := range all {
		found = found || seen.Name == s.name() && seen.Token == g.Token && seen.Key == s.backend().Key(s.name())
	}
	if !found {
		s.Errorf("it is not among all: %+v", all)
	}
	s.must(session.Release(s.ctx, c, true))
	free := s.look(o)
	if free.Held || !free.Ended || free.Info != "holder of n1" || free.Highest < g.Token {
		s.Errorf("after a release: %+v", free)
	}
	if _, g := s.claim(session, "n2"); !g.Clean || g.Token <= free.Highest {
		s.Errorf("after a look at %+v: %+v", free, g)
	}
}

func brokenIsFree(s *suite) {
	o, client := s.operator(), s.client(s.backend())
	l, err := client.Acquire(s.ctx, s.name(), cluster.AcquireOptions{})
	s.must(err)
	for _, wrong := range []uint64{0, l.Token() - 1, l.Token() + 1} {
		if err := o.Break(s.ctx, s.name(), wrong, "wrong"); !errors.Is(err, cluster.ErrNotThere) {
			s.Errorf("of token %d: %v", wrong, err)
		}
	}
	if err := o.Break(s.ctx, s.name()+"/other", l.Token(), "wrong"); !errors.Is(err, cluster.ErrNotThere) {
		s.Errorf("of a lock that never was: %v", err)
	}
	s.must(l.Check())
	s.must(o.Break(s.ctx, s.name(), l.Token(), "by me: host is gone"))
	select {
	case <-l.Context().Done():
	case <-s.ctx.Done():
		s.Fatal("the holder was not told")
	}
	if cause := context.Cause(l.Context()); !errors.As(cause, new(*cluster.LostError)) {
		s.Errorf("told: %v", cause)
	}
	if seen := s.look(o); seen.Held || seen.Ended || seen.Broken != "by me: host is gone" {
		s.Errorf("after it: %+v", seen)
	}
	if _, g := s.claim(s.session(), "n2"); g.Clean || g.Token <= l.Token() {
		s.Errorf("the successor need not wait, or its token does not rise: %+v after %d", g, l.Token())
	}
}

func raisedTokens(s *suite) {
	o, a, b := s.operator(), s.session(), s.session()
	c, g := s.claim(a, "n1")
	above := g.Token + 1_000_000
	err := o.Raise(s.ctx, s.name(), above)
	if errors.Is(err, cluster.ErrNoRaise) {
		return // it says so; docs/cluster.md has the way
	}
	if !errors.Is(err, cluster.ErrHeld) {
		s.Errorf("while it is held: %v", err)
	}
	if gone, err := a.Verify(s.ctx, []cluster.Claim{c}); err != nil || len(gone) > 0 {
		s.Fatal(gone, err)
	}
	s.must(a.Release(s.ctx, c, true))
	s.must(o.Raise(s.ctx, s.name(), above))
	s.must(o.Raise(s.ctx, s.name(), 1)) // nothing is lowered
	for i, session := range []cluster.Session{a, b, a} {
		c, g := s.claim(session, string(rune('a'+i)))
		if g.Token <= above || g.Token > above+1_000_000 {
			s.Errorf("token %d, want one above %d", g.Token, above)
		}
		if gone, err := session.Verify(s.ctx, []cluster.Claim{c}); err != nil || len(gone) > 0 {
			s.Error(gone, err)
		}
		if _, again := s.claim(session, string(rune('a'+i))); again.Token != g.Token {
			s.Errorf("asked again: %d, then %d", g.Token, again.Token)
		}
		if seen := s.look(o); seen.Token != g.Token {
			s.Errorf("seen with token %d: %+v", g.Token, seen)
		}
		s.must(session.Release(s.ctx, c, true))
		if seen := s.look(o); seen.Held {
			s.Errorf("not released: %+v", seen)
		}
		above = g.Token
	}
}
