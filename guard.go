package solehold

import (
	"errors"
	"sync"
	"time"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/oslock"
	"github.com/solehold/solehold/internal/record"
)

const (
	// guardDelay is how long a lock must be held before it is watched, so that
	// short holds pay nothing for it.
	guardDelay = 50 * time.Millisecond
	// guardTick is the slow check behind the events.
	guardTick = 30 * time.Second
	// deafCheck is that check where nothing tells of events.
	deafCheck = time.Second
	// repairTries bounds how often a repair is tried against starters that have
	// the new lock file for a moment; each refuses itself, since it sees our mark.
	repairTries = 100
)

// watched is one lock under watch.
type watched struct {
	k     *core
	mu    sync.Mutex
	timer *time.Timer
	ended bool
	ids   []watchID
	moved bool
}

// startWatch begins the self-check of a lock a little later.
func (k *core) startWatch() {
	w := &watched{k: k}
	k.watch = w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(guardDelay, w.begin)
}

// stop ends the self-check.
func (w *watched) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.timer.Stop()
}

// forget removes the watches. It comes after the lock was given up: their end is
// an event too, and a waiter should not have to wait for us to be woken by it.
func (w *watched) forget() {
	w.mu.Lock()
	ids := w.ids
	w.ids = nil
	w.mu.Unlock()
	if len(ids) > 0 {
		guards().forget(ids)
	}
}

// begin puts the watches in place and checks what happened before.
func (w *watched) begin() {
	w.follow()
	w.check()
}

// follow watches the state directory and the data directory where they are now.
// The data directory itself only tells of its own removal and renaming: a busy
// service must not wake us with every file it makes.
func (w *watched) follow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.listen()
	}
}

// listen is follow for those who have w.mu.
func (w *watched) listen() {
	w.k.mu.Lock()
	defer w.k.mu.Unlock()
	ids := guards().follow(w)
	w.ids = append(w.ids, ids...)
}

// check proves the lock anew and acts on what it finds. It also runs on a slow
// tick, for file systems that report no events.
func (w *watched) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	if len(w.ids) == 0 {
		w.listen()
	}
	w.timer.Reset(w.tick())
	w.act()
	w.k.asked()
	w.noteMove()
}

// tick is the time until the next check.
func (w *watched) tick() time.Duration {
	if len(w.ids) == 0 {
		return deafCheck
	}
	return guardTick
}

// doubt proves the lock right now, and leaves the next check when it was.
func (w *watched) doubt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.act()
	}
}

func (w *watched) act() {
	switch again, lost := w.k.prove(); {
	case lost != "":
		w.k.note(Event{Kind: journal.Lost, Detail: lost})
		w.k.setLost()
		w.k.lock.lose(lost)
		w.ended = true
		w.timer.Stop()
	case again:
		go w.begin() // what happened before the new watches were in place was not heard
	}
}

// noteMove forgets spellings of the path that lead elsewhere now.
func (w *watched) noteMove() {
	key, err := datadir.KeyOf(w.k.given)
	if moved := err != nil || key != w.k.e.key; moved && !w.moved {
		w.moved = true
		process.dropPaths(w.k.e)
		w.k.note(Event{Kind: journal.Moved, Detail: w.k.given + " no longer leads here; the directory is " + w.k.dirPath()})
	}
}

func (k *core) recordOurs() bool {
	rec, err := record.Decode(readRecord(k.c.lock))
	return err == nil && rec.Nonce == k.rec.Nonce && rec.Seq == k.rec.Seq
}

// keepRecord writes the record anew where somebody changed it. Lock and mark are
// ours, so that it was no owner.
func (k *core) keepRecord() {
	if !k.recordOurs() && k.write(true) == nil {
		k.noteLocked(Event{Kind: journal.LockRemoved, Detail: "the record was damaged; written anew"})
	}
}

func (k *core) setLost() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lost = true
}

// keepHistory begins a new history where ours was removed: what is written to a
// removed file is lost.
func (k *core) keepHistory() {
	if k.history == nil || !errors.Is(k.c.state.Same(journal.Name, k.historyFile), datadir.ErrMoved) {
		return
	}
	k.closeHistory()
	k.openHistory()
	k.noteLocked(Event{Kind: journal.LockRemoved, Detail: "the history was removed by unknown; made anew"})
}

// renew makes the lock file anew under the mark and moves the record there. When
// it fails the mark still keeps others out, and the next tick tries again.
func (k *core) renew() {
	var err error
	for range repairTries {
		fresh := &claim{dir: k.c.dir, class: k.c.class}
		if err = fresh.open(k.o); err == nil {
			err = k.c.keeps(fresh)
		}
		if err == nil {
			if err = oslock.TryLock(fresh.lock.FD(), oslock.Owner); err == nil {
				err = fresh.state.SameLock(fresh.lock)
			}
		}
		if err == nil {
			k.adopt(fresh)
			return
		}
		fresh.closeState()
		time.Sleep(time.Millisecond)
	}
	k.o.OnWarning(opError("make the lock file anew", k.c.lockPath(), err))
}

func (k *core) adopt(fresh *claim) {
	head, err := record.Newest(readRecord(fresh.lock))
	if err == nil {
		k.rec.Seq, k.slot = max(head.Seq, k.rec.Seq), head.Slot
	}
	k.rec.Lock = record.FileID(fresh.lock.Key())
	fresh.mark = k.c.mark
	k.c.closeState()
	k.closeHistory()
	k.c = fresh
	err = k.write(err != nil)
	k.openHistory()
	k.noteLocked(Event{Kind: journal.LockRemoved, Detail: "by unknown; mark still in place; lock file made anew"})
	if err != nil {
		k.o.OnWarning(opError("write the owner's record", fresh.lock.Path(), err))
	}
}

// noteLocked is note for those who have k.mu.
func (k *core) noteLocked(e Event) {
	if err := k.append(e); err != nil {
		k.o.OnWarning(err)
	}
}

// asked passes on a request to let go that is meant for this token.
func (k *core) asked() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	f, err := k.c.state.OpenRead(datadir.ReleaseName)
	if err != nil {
		return
	}
	defer f.Close()
	if r, err := readRequest(f); err == nil && r.Token == k.rec.Token {
		k.lock.ask(r)
	}
}
