package lease

import (
	"fmt"
	"slices"
	"time"
)

// Guard is one rule that can be taken out.
type Guard = guard

// Never is no time.
const Never = never

// Guards gives every guard.
func Guards() []Guard {
	var all []Guard
	for g := none + 1; g < guards; g++ {
		all = append(all, g)
	}
	return all
}

// Without takes a guard out.
func (m *Machine) Without(g Guard) { m.without = g }

// Clone gives a machine that goes on by itself.
func (m *Machine) Clone() *Machine {
	c := *m
	c.claims, c.sends = slices.Clone(m.claims), slices.Clone(m.sends)
	return &c
}

// Key gives the machine with times relative to now and IDs to the last one, so that two that go on alike are equal.
func (m *Machine) Key() string {
	c := m.Clone()
	rel := func(t *time.Duration) {
		if *t != never && *t != done {
			*t = max(*t-m.now, -time.Hour)
		}
	}
	old := func(s *sent) {
		if s.id != 0 {
			s.id -= m.ids + 1
		}
		rel(&s.at)
	}
	for i := range c.claims {
		k := &c.claims[i]
		old(&k.asked)
		for _, t := range []*time.Duration{&k.due, &k.open, &k.end, &k.kill, &k.stop} {
			rel(t)
		}
	}
	for i := range c.sends {
		old(&c.sends[i])
	}
	old(&c.asking)
	old(&c.looking)
	for _, t := range []*time.Duration{&c.wake, &c.base, &c.renewal, &c.doubt} {
		rel(t)
	}
	if c.before -= m.ids + 1; c.doubt == never {
		c.before, c.fresh, c.looked = 0, false, false
	}
	c.ids, c.now = 0, 0
	return fmt.Sprint(c.claims, c.sends, c.situation)
}

// LastID gives the last ID.
func (m *Machine) LastID() uint64 { return m.ids }

// TokenOf gives the token of a claim, 0 for none.
func (m *Machine) TokenOf(id uint64) uint64 {
	if c := m.find(id); c != nil {
		return c.token
	}
	return 0
}

// StickyGuard and KeptGuard are rules of sticky claims that can be taken out.
type (
	StickyGuard = stickyGuard
	KeptGuard   = keptGuard
)

// StickyGuards and KeptGuards give every such rule.
func StickyGuards() []StickyGuard { return upTo(stickyGuards) }

// KeptGuards gives those of what was kept.
func KeptGuards() []KeptGuard { return upTo(keptGuards) }

func upTo[G ~uint8](n G) (all []G) {
	for g := G(1); g < n; g++ {
		all = append(all, g)
	}
	return all
}

// Without takes a rule out.
func (s *Sticky) Without(g StickyGuard) { s.without = g }

// JudgeWithout is Judge with a rule taken out.
func (k Kept) JudgeWithout(me Self, g KeptGuard) Standing { return k.judge(me, g) }

// Clone gives a claim that goes on by itself.
func (s *Sticky) Clone() *Sticky { c := *s; return &c }

// Working reports whether the owner may work, or has been told and not ended.
func (s *Sticky) Working() bool { return s.state == Owned || s.state == Told }

// Key gives the claim with times relative to now.
func (s *Sticky) Key() string {
	c := s.stickySituation
	for _, t := range []*time.Duration{&c.wake, &c.due, &c.began, &c.end, &c.kill, &c.stop, &c.asked.at} {
		if *t != never {
			*t = max(*t-s.now, -time.Hour)
		}
	}
	if c.asked.id != 0 {
		c.asked.id -= c.ids + 1
	}
	c.ids, c.now = 0, 0
	return fmt.Sprint(c, s.cfg.Token, s.cfg.Away, s.cfg.Settled, s.cfg.Floor)
}
