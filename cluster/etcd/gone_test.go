package etcd_test

import (
	"errors"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
)

// A claim that is deleted before its watch begins, or while it is there, is told by the session itself: nobody verifies here.
func TestDeleteIsPushed(t *testing.T) {
	t.Parallel()
	server := start(t, 1)[0]
	b, direct := backend(t, addr(server)), raw(t, addr(server))
	defer b.Close()
	s, err := b.Grant(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for name, wait := range map[string]time.Duration{"before the watch": 0, "while it is watched": 300 * time.Millisecond} {
		g, err := s.Claim(t.Context(), cluster.Request{Name: name, Nonce: name})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := direct.Put(t.Context(), "/others", "write too"); err != nil { // the claim is not the last thing written
			t.Fatal(err)
		}
		<-time.After(wait)
		if _, err := direct.Delete(t.Context(), claimKey(name)); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		select {
		case c := <-s.Gone():
			t.Logf("%s: told after %v", name, time.Since(begin))
			if c.Name != name || c.Token != g.Token {
				t.Errorf("%s: %+v, want token %d", name, c, g.Token)
			}
		case <-time.After(patience):
			t.Fatalf("%s: nobody was told", name)
		}
	}
}

// The tokens of a lock that were raised are found by a client that has never heard of it, also at a refusal.
func TestRaisedBeforeTheFirstClaim(t *testing.T) {
	t.Parallel()
	server := start(t, 1)[0]
	operator, first, second := backend(t, addr(server)), backend(t, addr(server)), backend(t, addr(server))
	defer operator.Close()
	defer first.Close()
	defer second.Close()
	const above = 1_000_000
	if err := operator.Raise(t.Context(), "a", above); err != nil {
		t.Fatal(err)
	}
	one, err := first.Grant(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	two, err := second.Grant(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	g, err := one.Claim(t.Context(), cluster.Request{Name: "a", Nonce: "n1"})
	if err != nil || g.Token <= above || !g.Clean {
		t.Fatalf("%+v, %v", g, err)
	}
	var held *cluster.HeldError
	if _, err := two.Claim(t.Context(), cluster.Request{Name: "a", Nonce: "n2"}); !errors.As(err, &held) || held.Token != g.Token {
		t.Errorf("refused by %+v, want token %d", err, g.Token)
	}
	c := cluster.Claim{Name: "a", Nonce: "n1", Token: g.Token}
	if gone, err := one.Verify(t.Context(), []cluster.Claim{c}); err != nil || len(gone) > 0 {
		t.Error(gone, err)
	}
	if err := one.Release(t.Context(), c, true); err != nil {
		t.Fatal(err)
	}
	if g2, err := two.Claim(t.Context(), cluster.Request{Name: "a", Nonce: "n3"}); err != nil || g2.Token <= g.Token || !g2.Clean {
		t.Errorf("%+v after %+v, %v", g2, g, err)
	}
}
