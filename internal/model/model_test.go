package model_test

import (
	"testing"
)

// trouble is what may happen besides two processes that try twice each.
type trouble struct {
	name                                string
	removals, returns, crashes, unlocks uint8
}

func (x trouble) world() world {
	return world{
		starters: [2]starter{{tries: 2}, {tries: 2}},
		removals: x.removals, returns: x.returns, crashes: x.crashes, unlocks: x.unlocks,
	}
}

func troubles() []trouble {
	return []trouble{
		{"nothing", 0, 0, 0, 0},
		{"crashes", 0, 0, 3, 0},
		{"removals", 2, 0, 0, 0},
		{"a removal and crashes", 1, 0, 2, 0},
		{"removals, an old file moved back, a crash", 2, 1, 1, 0},
		{"an unlock by a child, a crash", 0, 0, 1, 1},
		{"unlocks by children, a removal", 1, 0, 0, 2},
	}
}

// Whatever is removed, moved back, unlocked or killed between any two steps: nothing leads to two owners, to a token that
// was given before, or to an owner that goes on after another one.
func TestProtocolIsSafe(t *testing.T) {
	t.Parallel()
	for _, x := range troubles() {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			bad, worlds := search(right(), x.world())
			if bad != nil {
				t.Errorf("%s", schedule(bad))
			}
			t.Logf("%d worlds", worlds)
		})
	}
}
