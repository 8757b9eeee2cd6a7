package model_test

import (
	"fmt"
	"slices"
)

// protocol is what the processes go through. Each step is one that the kernel, or the disk, does at once.
type protocol struct {
	start   []string // after opening the lock file
	retake  []string // by an owner whose locks are gone
	release []string
}

// right is the protocol of docs/protocol.md.
func right() protocol {
	return protocol{
		start:   []string{"lock", "mark", "look", "verify", "read", "write", "history"},
		retake:  []string{"lock", "mark", "look", "verify", "compare"},
		release: []string{"tear", "write", "unmark", "unlock"},
	}
}

// owning says whether the questions have been asked when the steps of a start before at are done.
func (p *protocol) owning(at int) bool {
	return !slices.ContainsFunc(p.start[at:], func(s string) bool {
		return slices.Contains([]string{"lock", "mark", "look", "look unless old", "verify"}, s)
	})
}

// move is what can happen next, and what comes of it.
type move struct {
	what  string
	to    world
	wrong string // what is wrong with the move itself
}

// moves gives everything that can happen next.
func (p *protocol) moves(w world) []move {
	var all []move
	add := func(what string, to world) { all = append(all, move{what: what, to: to}) }
	for i := range w.starters {
		all = append(all, p.acts(w, i)...)
		who := name(i)
		if life := w.starters[i].life; w.crashes > 0 && life != idle && life != ended {
			n := w
			n.crashes--
			n.gone(i)
			add(who+" crashes", n)
		}
		if w.unlocks > 0 && w.starters[i].life == owner {
			n := w
			n.unlocks--
			n.unlock(i)
			n.starters[i].mark, n.starters[i].shook = false, true
			add("a child of "+who+" unlocks what it inherited", n)
		}
	}
	if w.path != 0 && w.removals > 0 {
		n := w
		n.path, n.removals = 0, w.removals-1
		add("somebody removes the lock file", n)
	}
	for f := uint8(1); f <= w.made && w.returns > 0; f++ {
		if n := w; f != w.path {
			n.path, n.returns, n.spoiled = f, w.returns-1, true
			add(fmt.Sprintf("somebody moves lock file %d back", f), n)
		}
	}
	return all
}

func name(i int) string { return string(rune('A' + i)) }

// acts gives what process i can do next.
func (p *protocol) acts(w world, i int) []move {
	me := &w.starters[i]
	switch me.life {
	case idle:
		f, ok := w.openFile()
		if me.tries == 0 || !ok {
			return nil
		}
		me.life, me.step, me.tries, me.file = starting, 0, me.tries-1, f
		return []move{{what: fmt.Sprintf("%s opens lock file %d", name(i), f), to: w}}
	case starting:
		return p.goesOn(w, i, p.start)
	case retaking:
		return p.goesOn(w, i, p.retake)
	case releasing:
		return p.goesOn(w, i, p.release)
	case owner:
		return p.asOwner(w, i)
	}
	return nil
}

// asOwner gives what an owner can do: release, and see to its locks.
func (p *protocol) asOwner(w world, i int) []move {
	var all []move
	n := w
	n.starters[i].life, n.starters[i].step = releasing, 0
	all = append(all, move{what: name(i) + " begins to release", to: n})
	me := &w.starters[i]
	switch {
	case me.shook && w.path != me.file:
		n := w
		n.gone(i)
		all = append(all, move{what: name(i) + " finds its locks and the lock file gone, and stops", to: n})
	case me.shook:
		n := w
		n.starters[i].life, n.starters[i].step = retaking, 0
		all = append(all, move{what: name(i) + " finds its locks gone", to: n})
	case me.fresh == 0 && w.path != me.file:
		if f, ok := w.openFile(); ok {
			me.fresh = f
			all = append(all, move{what: fmt.Sprintf("%s finds its lock file gone and opens %d", name(i), f), to: w})
		}
	case me.fresh != 0 && w.path != me.fresh:
		me.fresh = 0
		all = append(all, move{what: name(i) + " sees that this file is gone, too", to: w})
	case me.fresh != 0 && w.files[me.fresh].lock == 0:
		w.putBack(i)
		all = append(all, move{what: fmt.Sprintf("%s has its record in lock file %d", name(i), me.file), to: w})
	}
	return all
}

// putBack makes the fresh file the one of an owner.
func (w *world) putBack(i int) {
	me := &w.starters[i]
	w.unlock(i)
	f := &w.files[me.fresh]
	f.lock = uint8(i + 1)
	seq := max(f.top().seq, w.files[me.file].top().seq) + 1
	f.slots[f.other()] = slot{me.token, seq}
	me.file, me.fresh = me.fresh, 0
}

// goesOn does the next step of what process i goes through.
func (p *protocol) goesOn(w world, i int, steps []string) []move {
	me := &w.starters[i]
	step := steps[me.step]
	me.step++
	who := name(i)
	said, ok := w.do(step, i)
	m := move{what: who + " " + said, to: w}
	me = &m.to.starters[i]
	switch {
	case !ok:
		m.to.gone(i)
		return []move{m}
	case me.life == starting && p.owning(int(me.step)):
		me.owns = true
	}
	if int(me.step) == len(steps) {
		m.end(i)
	}
	return []move{m}
}

// end is the end of a start, of a retake, of a release.
func (m *move) end(i int) {
	w := &m.to
	me := &w.starters[i]
	switch me.life {
	case starting:
		me.life, me.step = owner, 0
		m.what += fmt.Sprintf(", and is owner with token %d", me.token)
		if me.token <= w.given && !w.spoiled {
			m.wrong = fmt.Sprintf("token %d is given after token %d", me.token, w.given)
		}
		w.given = max(w.given, me.token)
	case retaking:
		me.life, me.step, me.shook = owner, 0, false
		m.what += ", and goes on as owner"
		if me.token < w.given && !w.spoiled {
			m.wrong = fmt.Sprintf("the owner with token %d goes on after one with token %d", me.token, w.given)
		}
	case releasing:
		w.gone(i)
	}
}
