package clustertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/solehold/solehold/cluster"
)

// lives gives what is kept of the lock of this clause.
func (s *suite) lives() []cluster.Life {
	s.Helper()
	c, ok := s.backend().(cluster.Chronicler)
	if !ok {
		s.Fatal("it is not a cluster.Chronicler")
	}
	all, err := c.Lives(s.ctx, s.name())
	s.must(err)
	return all
}

// born is a claim that says when it was made.
func (s *suite) born(session cluster.Session, nonce string) (cluster.Claim, cluster.Grant) {
	s.Helper()
	r := s.request(nonce)
	r.Since = cluster.Moment(time.Now())
	g, err := session.Claim(s.ctx, r)
	s.must(err)
	return cluster.Claim{Name: r.Name, Nonce: nonce, Token: g.Token}, g
}

func livesAreKept(s *suite) {
	if all := s.lives(); len(all) != 0 {
		s.Fatalf("before anything: %+v", all)
	}
	a, b, o := s.session(), s.session(), s.operator()
	released, _ := s.born(a, "n1")
	s.must(a.Release(s.ctx, released, true))
	s.must(a.Release(s.ctx, released, true)) // again: nothing more has happened
	expired, _ := s.born(a, "n2")
	s.must(a.Revoke(s.ctx))
	broken, _ := s.born(b, "n3")
	s.must(o.Break(s.ctx, s.name(), broken.Token, "by me: host is gone"))
	s.must(b.Release(s.ctx, broken, true)) // it is not ours any more
	withdrawn, _ := s.born(b, "n4")
	s.must(b.Release(s.ctx, withdrawn, false))
	above := withdrawn.Token + 1_000_000
	err := o.Raise(s.ctx, s.name(), above)
	if err != nil && !errors.Is(err, cluster.ErrNoRaise) {
		s.Fatal(err)
	}
	last, _ := s.born(b, "n5")
	s.must(b.Release(s.ctx, last, true))
	want := []cluster.Life{
		{Token: released.Token, End: cluster.Released, Info: "holder of n1"},
		{Token: expired.Token, End: cluster.Expired, Info: "holder of n2", Next: broken.Token},
		{Token: broken.Token, End: cluster.Broken, Info: "holder of n3", Why: "by me: host is gone"},
		{Token: withdrawn.Token, End: cluster.Withdrawn, Info: "holder of n4"},
		{Token: above, End: cluster.Raised},
		{Token: last.Token, End: cluster.Released, Info: "holder of n5"},
	}
	if err != nil {
		want = append(want[:4], want[5])
	}
	var all []cluster.Life
	s.eventually("what the next owner found is written", func() bool {
		all = s.lives()
		return len(all) >= len(want)
	})
	if len(all) != len(want) {
		s.Fatalf("got %+v", all)
	}
	for i, l := range all {
		if l.Until == "" || (l.Since == "") != (l.End == cluster.Raised) || l.Since > l.Until {
			s.Errorf("no times: %+v", l)
		}
		l.Since, l.Until, l.Nonce = "", "", ""
		if l != want[i] {
			s.Errorf("got %+v, want %+v", l, want[i])
		}
	}
}

func livesAreBounded(s *suite) {
	session := s.session()
	const more = 2*cluster.LivesKept + 20
	var last cluster.Claim
	for i := range more {
		c, _ := s.born(session, fmt.Sprint("n", i))
		s.must(session.Release(s.ctx, c, true))
		last = c
	}
	all := s.lives()
	if len(all) != cluster.LivesKept || all[len(all)-1].Token != last.Token {
		s.Fatalf("%d lives, the last of token %d", len(all), all[len(all)-1].Token)
	}
	if first := all[0].Info; first != fmt.Sprint("holder of n", more-cluster.LivesKept) {
		s.Errorf("the first one is %s", first)
	}
}
