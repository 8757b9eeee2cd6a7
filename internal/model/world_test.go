package model_test

// The lives of a process.
const (
	idle      = iota // has not begun, or has to begin again
	starting         // goes through the steps of a start
	owner            // was given the directory
	retaking         // its locks were taken away, and it tries to get them back
	releasing        // goes through the steps of a release
	ended            // has no tries left
)

// maxFiles bounds how often a lock file is made.
const maxFiles = 5

// torn is a slot that a crash has left half written.
const torn = 255

// starter is one process.
type starter struct {
	life  uint8
	step  uint8 // the next one of what it goes through
	tries uint8 // left
	file  uint8 // the lock file that it has open, 0 for none
	fresh uint8 // the one that it is about to put in place of a removed one, as the owner
	token uint8 // its own, once it has read the last one
	mark  bool
	owns  bool // from the last question on until it begins to let go
	shook bool // a process that shares its descriptors has unlocked them, and it does not know yet
}

// slot is one of the two places for a record in a lock file.
type slot struct{ token, seq uint8 } // token torn: not valid

// file is one lock file, named or removed.
type file struct {
	lock  uint8 // 1 or 2: who has it; 0 nobody
	slots [2]slot
}

// world is everything that the protocol is about.
type world struct {
	starters [2]starter
	files    [maxFiles + 1]file // from 1 on
	made     uint8              // so many
	path     uint8              // the file that the lock's path leads to, 0 for none
	history  uint8              // the last token in it
	given    uint8              // the highest token that an owner was given
	removals uint8              // left
	returns  uint8              // left: an older lock file is moved back to the path
	crashes  uint8              // left
	unlocks  uint8              // left: a child unlocks what it shares with an owner
	spoiled  bool               // an old file came back, or who had lost his locks unawares wrote: tokens are not promised
}

// newest gives the valid slot with the highest token and seq, and whether the file has a damaged one.
func (f *file) newest() (best int, damaged bool) {
	best = -1
	for i, s := range f.slots {
		switch {
		case s.token == torn:
			damaged = true
		case s.token == 0:
		case best < 0, s.token > f.slots[best].token, s.token == f.slots[best].token && s.seq > f.slots[best].seq:
			best = i
		}
	}
	return best, damaged
}

// other is the slot to write to.
func (f *file) other() int {
	best, _ := f.newest()
	if best < 0 {
		return 0
	}
	return 1 - best
}

// top gives the newest valid record; zero for none.
func (f *file) top() slot {
	best, _ := f.newest()
	if best < 0 {
		return slot{}
	}
	return f.slots[best]
}

// openFile opens the lock file, which is made where there is none; ok is false when the model has no more files.
func (w *world) openFile() (f uint8, ok bool) {
	if w.path == 0 {
		if w.made == maxFiles {
			return 0, false
		}
		w.made++
		w.path = w.made
	}
	return w.path, true
}

// unlock gives up every lock of a process, and not its mark.
func (w *world) unlock(i int) {
	for f := range w.files {
		if w.files[f].lock == uint8(i+1) {
			w.files[f].lock = 0
		}
	}
}

// gone is the end of a try, of an owner, or of the process: the kernel takes its locks and its mark.
func (w *world) gone(i int) {
	w.unlock(i)
	tries := w.starters[i].tries
	w.starters[i] = starter{tries: tries}
	if tries == 0 {
		w.starters[i].life = ended
	}
}

// wrong says in words what is wrong in this world, or nothing.
func (w *world) wrong() string {
	a, b := &w.starters[0], &w.starters[1]
	if a.owns && b.owns && !a.shook && !b.shook {
		return "two owners"
	}
	return ""
}
