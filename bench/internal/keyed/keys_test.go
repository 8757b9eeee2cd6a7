package keyed_test

import (
	"testing"

	"github.com/solehold/solehold/bench/internal/keyed"
)

// Each of them locks: what is compared does the same.
func TestEachLocks(t *testing.T) {
	for _, p := range append(keyed.Others(), keyed.Ours()) {
		table := p.New()
		if !table.TryLock("a") || table.TryLock("a") || !table.TryLock("b") {
			t.Errorf("%s: a key was locked twice, or another one not at all", p.Name)
		}
		table.Unlock("a")
		if !table.TryLock("a") {
			t.Errorf("%s: a key that was unlocked stays locked", p.Name)
		}
	}
}

// Ours allocates and keeps nothing, and the measure sees it where one does.
func TestMeasures(t *testing.T) {
	names := keyed.Names(100)
	for _, p := range append(keyed.Others(), keyed.Ours()) {
		allocs, kept := keyed.Allocs(p.New(), names), keyed.Kept(p, 100_000)
		wantAllocs, wantKept := p.Name == "singleflight-like map", p.Name != "keylock"
		if (allocs > 0) != wantAllocs || (kept > 1<<20) != wantKept {
			t.Errorf("%s: %v allocations, %v bytes kept", p.Name, allocs, kept)
		}
	}
}
