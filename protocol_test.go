package solehold_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// This is an exhaustive search over docs/protocol.md: two starters, somebody who
// removes the lock file, and a crash, in every order of their steps. It knows
// nothing of the code; the storm tests try the code itself.

const (
	nobodyYet = iota // has not begun, or has to begin again
	starting
	owner
	ended
)

// starter is one process.
type starter struct {
	life  int
	step  int // the next one, while starting
	tries int // left
	file  int // the lock file that it has open, 0 for none
	fresh int // the one that it is about to put back, as the owner
	mark  bool
}

// world is everything that the protocol is about.
type world struct {
	starters [2]starter
	path     int       // the file that the lock's path leads to, 0 for none
	lock     [6]int    // who has the lock of each file: 1 or 2, 0 for nobody
	token    [6]uint64 // the record in each file, 0 for none
	files    int       // made so far
	last     uint64    // the token in the history
	removals int       // left
	returns  int       // left: an older lock file is moved back to the path
	crashes  int       // left
	returned bool      // then tokens are not promised
}

// search visits every world that the steps can lead to and returns how it came
// to two owners or to a token that does not rise, or nil.
type search struct {
	steps []string // after opening
	seen  map[world]bool
	trace []string
	bad   []string
}

func (s *search) visit(w world) {
	if s.bad != nil || s.seen[w] {
		return
	}
	s.seen[w] = true
	if w.starters[0].life == owner && w.starters[1].life == owner {
		s.bad = append(slices.Clone(s.trace), "two owners")
		return
	}
	for i := range w.starters {
		s.act(w, i)
	}
	if w.path != 0 && w.removals > 0 {
		n := w
		n.path, n.removals = 0, w.removals-1
		s.then("somebody removes the lock file", n)
	}
	for f := 1; f <= w.files && w.returns > 0; f++ {
		if n := w; f != w.path {
			n.path, n.returns, n.returned = f, w.returns-1, true
			s.then(fmt.Sprintf("somebody moves lock file %d back", f), n)
		}
	}
}

func (s *search) then(what string, w world) {
	s.trace = append(s.trace, what)
	s.visit(w)
	s.trace = s.trace[:len(s.trace)-1]
}

// act does what starter i can do next.
func (s *search) act(w world, i int) {
	me := w.starters[i]
	who := string(rune('A'+i)) + ": "
	if w.crashes > 0 && (me.life == starting || me.life == owner) {
		n := w
		n.crashes--
		n.letGo(i)
		s.then(who+"crash", n)
	}
	switch me.life {
	case nobodyYet:
		if me.tries > 0 && w.files < len(w.lock)-1 {
			w.open(i)
			s.then(who+"open", w)
		}
	case starting:
		s.start(w, i, who)
	case owner:
		n := w
		n.letGo(i)
		s.then(who+"release", n)
		s.repair(w, i, who)
	}
}

func (s *search) start(w world, i int, who string) {
	me := &w.starters[i]
	if me.step == len(s.steps) {
		me.life = owner
		token := w.token[me.file] + 1
		if token == 1 {
			token = w.last + 1 // a new file has no record
		}
		if token <= w.last && !w.returned {
			s.bad = append(slices.Clone(s.trace), fmt.Sprintf("%stoken %d after %d", who, token, w.last))
		}
		w.token[me.file], w.last = token, token
		s.then(who+"owner", w)
		return
	}
	step := s.steps[me.step]
	me.step++
	ok := true
	switch step {
	case "lock":
		if ok = w.lock[me.file] == 0; ok {
			w.lock[me.file] = i + 1
		}
	case "mark":
		me.mark = true
	case "verify":
		ok = w.path == me.file
	case "look":
		ok = !w.starters[1-i].mark
	}
	if !ok {
		w.letGo(i)
		step += " fails"
	}
	s.then(who+step, w)
}

// repair is the owner's own care for a removed lock file.
func (s *search) repair(w world, i int, who string) {
	me := &w.starters[i]
	switch {
	case me.fresh == 0 && w.path != me.file && w.files < len(w.lock)-1:
		me.fresh = w.openFile()
		s.then(who+"open again", w)
	case me.fresh != 0 && w.lock[me.fresh] == 0:
		w.unlock(i)
		w.lock[me.fresh], w.token[me.fresh] = i+1, w.token[me.file]
		me.file, me.fresh = me.fresh, 0
		s.then(who+"put back", w)
	}
}

// openFile opens the lock file, which is made where there is none.
func (w *world) openFile() int {
	if w.path == 0 {
		w.files++
		w.path = w.files
	}
	return w.path
}

func (w *world) open(i int) {
	file := w.openFile()
	me := &w.starters[i]
	me.life, me.step, me.tries, me.file = starting, 0, me.tries-1, file
}

func (w *world) unlock(i int) {
	for f := range w.lock {
		if w.lock[f] == i+1 {
			w.lock[f] = 0
		}
	}
}

// letGo is the end of a try, of an owner, or of the process.
func (w *world) letGo(i int) {
	w.unlock(i)
	tries := w.starters[i].tries
	w.starters[i] = starter{tries: tries}
	if tries == 0 {
		w.starters[i].life = ended
	}
}

func violation(steps ...string) (bad []string, worlds int) {
	s := search{steps: steps, seen: map[world]bool{}}
	s.visit(world{starters: [2]starter{{tries: 2}, {tries: 2}}, removals: 2, returns: 2, crashes: 1})
	return s.bad, len(s.seen)
}

// The lock, the mark, then the question for other marks, and last the path:
// nothing leads to two owners or to a token that was given before.
func TestProtocolIsSafe(t *testing.T) {
	t.Parallel()
	bad, worlds := violation("lock", "mark", "look", "verify")
	if bad != nil {
		t.Errorf("after\n%s", strings.Join(bad, "\n"))
	}
	t.Logf("%d worlds", worlds)
}

// Every other order, and the protocol without one of its steps, goes wrong. So
// the search can find something, and each step is needed.
func TestProtocolNeedsItsOrder(t *testing.T) {
	t.Parallel()
	for _, steps := range [][]string{
		{"lock"},
		{"lock", "verify"},
		{"lock", "mark", "verify"},
		{"lock", "mark", "look"},
		{"lock", "verify", "look"},
		{"lock", "mark", "verify", "look"}, // a token is given twice
		{"lock", "look", "mark", "verify"},
		{"lock", "look", "verify", "mark"},
		{"lock", "verify", "look", "mark"},
		{"lock", "verify", "mark", "look"},
	} {
		bad, _ := violation(steps...)
		if bad == nil {
			t.Errorf("%v: nothing goes wrong", steps)
			continue
		}
		t.Logf("%v: %s after %d steps", steps, bad[len(bad)-1], len(bad)-1)
	}
}
