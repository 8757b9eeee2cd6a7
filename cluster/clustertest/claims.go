package clustertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/solehold/solehold/cluster"
)

func tokensRise(s *suite) {
	a, b := s.session(), s.session()
	var last uint64
	for i, session := range []cluster.Session{a, b, b, a} {
		c, g := s.claim(session, string(rune('a'+i)))
		if g.Token <= last {
			s.Fatalf("token %d after %d", g.Token, last)
		}
		last = g.Token
		s.must(session.Release(s.ctx, c, true))
	}
}

func claimIdempotent(s *suite) {
	session := s.session()
	_, first := s.claim(session, "n1")
	_, again := s.claim(session, "n1")
	if again.Token != first.Token || again.Clean {
		s.Errorf("first %+v, again %+v: want the same token, and no word about the predecessor", first, again)
	}
	if _, err := session.Claim(s.ctx, s.request("n2")); !errors.Is(err, cluster.ErrHeld) {
		s.Errorf("with another nonce on the same lease: %v", err)
	}
}

// unknownAnswer withdraws a claim by its nonce alone.
func unknownAnswer(s *suite) {
	session := s.session()
	c, g := s.claim(session, "n1")
	c.Token = 0
	s.must(session.Release(s.ctx, c, false))
	_, after := s.claim(session, "n2")
	if after.Token <= g.Token || after.Clean {
		s.Errorf("after a withdrawal %+v, before %+v", after, g)
	}
	c = cluster.Claim{Name: s.name(), Nonce: "n1"}
	s.must(session.Release(s.ctx, c, false))
	if gone, err := session.Verify(s.ctx, []cluster.Claim{{Name: s.name(), Nonce: "n2", Token: after.Token}}); err != nil || len(gone) > 0 {
		s.Errorf("a withdrawal of another nonce took the claim: %v, %v", gone, err)
	}
}

func refusedWritesNothing(s *suite) {
	a, b := s.session(), s.session()
	s.claim(a, "n1")
	if s.e.Writes == nil {
		return
	}
	before := s.e.Writes(s, s.name())
	for range 3 {
		if _, err := b.Claim(s.ctx, s.request("n2")); !errors.Is(err, cluster.ErrHeld) {
			s.Fatal(err)
		}
	}
	if after := s.e.Writes(s, s.name()); after != before {
		s.Errorf("writes before %s, after %s", before, after)
	}
}

func refusalNames(s *suite) {
	a, b := s.session(), s.session()
	_, g := s.claim(a, "n1")
	_, err := b.Claim(s.ctx, s.request("n2"))
	var held *cluster.HeldError
	if !errors.As(err, &held) || held.Info != "holder of n1" || held.Token != g.Token || held.Foreign || held.Name != s.name() {
		s.Errorf("got %+v, want the holder with token %d", err, g.Token)
	}
}

func releaseConditional(s *suite) {
	a, b := s.session(), s.session()
	c, _ := s.claim(a, "n1")
	for _, wrong := range []cluster.Claim{
		{Name: c.Name, Nonce: "n0", Token: c.Token},
		{Name: c.Name, Nonce: c.Nonce, Token: c.Token + 1},
	} {
		s.must(a.Release(s.ctx, wrong, true))
		if _, err := b.Claim(s.ctx, s.request("n2")); !errors.Is(err, cluster.ErrHeld) {
			s.Fatalf("after the release of %+v: %v", wrong, err)
		}
	}
	s.must(a.Release(s.ctx, c, true))
	s.claim(b, "n3")
	s.must(a.Release(s.ctx, c, true)) // a release that is repeated
	if _, err := a.Claim(s.ctx, s.request("n4")); !errors.Is(err, cluster.ErrHeld) {
		s.Errorf("a repeated release gave away the lock of the next owner: %v", err)
	}
}

func releaseOfNothing(s *suite) {
	s.must(s.session().Release(s.ctx, cluster.Claim{Name: s.name(), Nonce: "n1"}, true))
	if _, g := s.claim(s.session(), "n2"); !g.Clean {
		s.Error("a lock that never had an owner asks for a delay")
	}
}

func lockDelay(s *suite) {
	a, b := s.session(), s.session()
	c, g := s.claim(a, "n1")
	if !g.Clean {
		s.Error("the first owner must wait")
	}
	s.must(a.Release(s.ctx, c, true))
	if _, g = s.claim(a, "n2"); !g.Clean {
		s.Error("after a clean release an owner must wait")
	}
	s.must(a.Revoke(s.ctx))
	c, g = s.claim(b, "n3")
	if g.Clean || g.Delay != 2*time.Second {
		s.Errorf("after a lease that ended: %+v; want the predecessor's delay of 2s", g)
	}
	s.must(b.Release(s.ctx, c, false))
	if _, g = s.claim(b, "n4"); g.Clean {
		s.Error("a claim that never worked released its predecessor")
	}
}

func names(s *suite) {
	session := s.session()
	all := []string{"a", "a/b", "a/b/", "/a/b", "a b", "a%20b", "a+b", "a%2Fb", "..", ".", "ä/ö", "a;b?c#d", "a:b", strings.Repeat("x", 400)}
	for i, n := range all {
		r := s.request(fmt.Sprint("n", i))
		r.Name = s.name() + n
		if n[0] == '.' {
			r.Name = n + s.name()
		}
		_, err := session.Claim(s.ctx, r)
		s.must(err)
		r.Nonce += "other"
		if _, err = session.Claim(s.ctx, r); !errors.Is(err, cluster.ErrHeld) {
			s.Errorf("%q: %v", r.Name, err)
		}
	}
}

func foreign(s *suite) {
	if s.e.Plant == nil {
		return
	}
	s.e.Plant(s, s.name())
	session := s.session()
	_, err := session.Claim(s.ctx, s.request("n1"))
	var held *cluster.HeldError
	if !errors.As(err, &held) || !held.Foreign || held.Key == "" {
		s.Fatalf("got %v", err)
	}
	s.must(session.Release(s.ctx, cluster.Claim{Name: s.name(), Nonce: "n1"}, true))
	o := s.operator()
	if seen := s.look(o); !seen.Held || !seen.Foreign {
		s.Errorf("a look takes it for ours: %+v", seen)
	}
	if err := o.Break(s.ctx, s.name(), held.Token, "by mistake"); err == nil {
		s.Error("it was broken")
	}
	if _, again := session.Claim(s.ctx, s.request("n1")); again == nil {
		s.Error("a withdrawal removed what somebody else wrote")
	}
}

func manyLocks(s *suite) {
	a, b := s.session(), s.session()
	var claims []cluster.Claim
	for i := range 20 {
		r := s.request(fmt.Sprint("n", i))
		r.Name += strings.Repeat("i", i)
		g, err := a.Claim(s.ctx, r)
		s.must(err)
		claims = append(claims, cluster.Claim{Name: r.Name, Nonce: r.Nonce, Token: g.Token})
	}
	gone, err := a.Verify(s.ctx, claims)
	if err != nil || len(gone) > 0 {
		s.Errorf("gone: %v, %v", gone, err)
	}
	s.must(a.Release(s.ctx, claims[3], true))
	if gone, err = a.Verify(s.ctx, claims); err != nil || !slices.Equal(gone, []string{claims[3].Nonce}) {
		s.Errorf("gone after one release: %v, %v", gone, err)
	}
	s.must(a.Revoke(s.ctx))
	for _, c := range claims {
		r := s.request("m" + c.Nonce)
		r.Name = c.Name
		_, err := b.Claim(s.ctx, r)
		s.must(err)
	}
}
