package policy_test

import (
	"time"

	"github.com/solehold/solehold/internal/policy"
)

// key is a world without what makes no difference.
type key struct {
	policy.Situation
	book
}

// key gives what two worlds that go on alike have in common.
func (w *world) key() key {
	b := w.book
	b.mayStartAt = max(b.mayStartAt, b.now)
	for _, t := range []*time.Duration{&b.wake, &b.probedAt, &b.lastFail, &b.mayStartAt, &b.upAt, &b.lastGood} {
		*t = policy.Relative(*t, b.now)
	}
	if b.lastEvidence != 0 && b.lastEvidence != b.evidence {
		b.lastEvidence = 2
	}
	if b.probe == 0 {
		b.probedAt, b.which = 0, 0
	}
	if b.evidence == 0 && !b.proved {
		b.evidenceOf = 0
	}
	if !b.held && b.evidenceOf == 0 {
		b.holder = 0
	}
	if b.known != policy.LockFree {
		b.known = policy.LockUnknown
	}
	if b.life == 0 || w.cfg.HasHealth {
		b.upAt = 0
	}
	b.probe, b.evidence, b.life, b.lastEvidence = min(b.probe, 1), min(b.evidence, 1), min(b.life, 1), min(b.lastEvidence, 2)
	b.old, b.lastLife, b.now, b.ids = 0, 0, 0, 0
	b.failing, b.fails, b.deaths = min(b.failing, w.cfg.MinFailing), min(b.fails, 2), min(b.deaths, 3)
	if w.m.State() == policy.Ended {
		b = book{begun: b.begun, over: b.over}
	}
	return key{w.m.Key(), b}
}
