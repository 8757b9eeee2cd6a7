package model_test

import "fmt"

// do does one step of process i and tells it in words; ok is false when the process has to give up.
func (w *world) do(step string, i int) (said string, ok bool) {
	me := &w.starters[i]
	f := &w.files[me.file]
	switch step {
	case "lock":
		if f.lock != 0 && f.lock != uint8(i+1) {
			return "is refused by the lock", false
		}
		f.lock = uint8(i + 1)
		return "takes the lock", true
	case "mark":
		me.mark = true
		return "marks the directory", true
	case "look":
		if w.starters[1-i].mark {
			return "sees another mark and gives up", false
		}
		return "sees no other mark", true
	case "look unless old":
		return "sees another mark, or none, but the record is old", true
	case "verify":
		if w.path != me.file {
			return "sees that the path leads elsewhere and gives up", false
		}
		return "sees that the path leads to its file", true
	case "compare":
		if top := f.top(); top.token != me.token {
			return "finds another one's record and stops", false
		}
		return "finds its own record", true
	}
	return w.record(step, i), true
}

// record does the steps that write or let go; they always succeed.
func (w *world) record(step string, i int) (said string) {
	me := &w.starters[i]
	f := &w.files[me.file]
	switch step {
	case "read":
		last := f.top().token
		if best, damaged := f.newest(); best < 0 || damaged {
			last = max(last, w.history)
		}
		return w.next(i, last)
	case "read the slots alone":
		return w.next(i, f.top().token)
	case "tear":
		f.slots[f.other()].token = torn
		return "begins to write that it has released"
	case "tear in place":
		f.slots[0].token, f.slots[1] = torn, slot{}
		return "writes over the last record"
	case "write":
		w.spoiled = w.spoiled || me.shook
		at := 0
		if f.slots[0].token != torn {
			at = 1
		}
		f.slots[at] = slot{me.token, f.slots[1-at].seq + 1}
		return fmt.Sprintf("has written its record with token %d", me.token)
	case "history":
		w.history = max(w.history, me.token)
		return fmt.Sprintf("adds token %d to the history", me.token)
	case "unmark":
		me.mark, me.owns = false, false
		return "gives up its mark"
	case "unlock":
		w.unlock(i)
		me.owns = false
		return "gives up the lock"
	case "remove":
		w.path = 0
		return "removes the lock file, to be tidy"
	}
	panic("no such step: " + step)
}

// next takes the token after the last one, and begins to write it down.
func (w *world) next(i int, last uint8) string {
	w.starters[i].token = last + 1
	f := &w.files[w.starters[i].file]
	f.slots[f.other()].token = torn
	return fmt.Sprintf("reads that the last token was %d and begins to write", last)
}
