package model_test

import (
	"slices"
	"testing"
)

// The newest record is the valid one with the highest token, then the highest seq; the other slot is written next.
func TestSlots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		slots    [2]slot
		newest   int
		damaged  bool
		writesTo int
	}{
		{"a new file", [2]slot{}, -1, false, 0},
		{"one record", [2]slot{{1, 1}, {}}, 0, false, 1},
		{"one record in the second", [2]slot{{}, {1, 1}}, 1, false, 0},
		{"a higher token", [2]slot{{1, 9}, {2, 1}}, 1, false, 0},
		{"the same token, written again", [2]slot{{2, 4}, {2, 3}}, 0, false, 1},
		{"one is torn", [2]slot{{torn, 0}, {3, 1}}, 1, true, 0},
		{"the newer is torn", [2]slot{{3, 1}, {torn, 9}}, 0, true, 1},
		{"the only one is torn", [2]slot{{torn, 0}, {}}, -1, true, 0},
		{"both are torn", [2]slot{{torn, 0}, {torn, 0}}, -1, true, 0},
	} {
		f := file{slots: c.slots}
		if newest, damaged := f.newest(); newest != c.newest || damaged != c.damaged || f.other() != c.writesTo {
			t.Errorf("%s: newest %d, damaged %v, writes to %d", c.name, newest, damaged, f.other())
		}
	}
}

// visit calls see for every world that the right protocol leads to, with what can happen there.
func visit(from world, see func(w world, next []move)) {
	p := right()
	seen := map[world]bool{from: true}
	for queue := []world{from}; len(queue) > 0; queue = queue[1:] {
		next := p.moves(queue[0])
		see(queue[0], next)
		for _, m := range next {
			if !seen[m.to] {
				seen[m.to] = true
				queue = append(queue, m.to)
			}
		}
	}
}

// Nobody waits for ever: a world in which nothing can happen any more is one in which both have ended. And where nothing
// is removed, unlocked or killed, somebody was owner by then: two starters do not turn each other away.
func TestEveryTryEnds(t *testing.T) {
	t.Parallel()
	for _, x := range troubles()[:4] {
		ends := 0
		visit(x.world(), func(w world, next []move) {
			if len(next) > 0 {
				return
			}
			ends++
			for i, s := range w.starters {
				if s.life != ended {
					t.Fatalf("%s: %s stands still: %+v", x.name, name(i), w)
				}
			}
			if x.name == "nothing" && w.given == 0 {
				t.Fatalf("nobody was owner: %+v", w)
			}
		})
		if ends == 0 {
			t.Errorf("%s: no end", x.name)
		}
	}
}

// The kernel's part: a lock has one holder, who lives; what has ended holds nothing.
func TestTheKernelKeepsItsPart(t *testing.T) {
	t.Parallel()
	for _, x := range troubles()[:4] {
		visit(x.world(), func(w world, _ []move) {
			for f := range w.files {
				if by := w.files[f].lock; by != 0 && slices.Contains([]uint8{idle, ended}, w.starters[by-1].life) {
					t.Fatalf("%s: %s holds lock file %d and does not run: %+v", x.name, name(int(by-1)), f, w)
				}
			}
			for i, s := range w.starters {
				if (s.life == idle || s.life == ended) && (s.mark || s.owns || s.file != 0) {
					t.Fatalf("%s: %s has something left: %+v", x.name, name(i), w)
				}
			}
		})
	}
}

// Both a takeover after a crash and one after a release happen in the model, and each gives the next token: what the
// search calls safe is not safe for want of owners.
func TestOwnersFollowEachOther(t *testing.T) {
	t.Parallel()
	most := uint8(0)
	after := map[string]bool{}
	visit(trouble{crashes: 1}.world(), func(w world, next []move) {
		most = max(most, w.given)
		for _, m := range next {
			if m.to.given == w.given+1 && w.given > 0 {
				after[map[bool]string{true: "a crash", false: "a release"}[m.to.crashes == 0]] = true
			}
		}
	})
	if most != 4 || !after["a crash"] || !after["a release"] {
		t.Errorf("highest token %d, takeovers %v", most, after)
	}
}
