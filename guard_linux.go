package solehold

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/oslock"
	"github.com/solehold/solehold/internal/record"
	"golang.org/x/sys/unix"
)

const (
	// guardDelay is how long a lock must be held before it is watched, so that
	// short holds pay nothing for it.
	guardDelay = 50 * time.Millisecond
	// guardTick is the slow check behind the events.
	guardTick = 30 * time.Second
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
	wds   []int32
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
	wds := w.wds
	w.wds = nil
	w.mu.Unlock()
	if len(wds) > 0 {
		guards().forget(wds)
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
	if w.ended {
		return
	}
	w.k.mu.Lock()
	defer w.k.mu.Unlock()
	g := guards()
	const own = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF
	for _, at := range []struct {
		fd   uintptr
		mask uint32
	}{
		{w.k.c.dir.FD(), own},
		{w.k.c.state.FD(), own | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_CLOSE_WRITE},
		{w.k.c.lock.FD(), unix.IN_MODIFY}, // an owner beside us writes its record
	} {
		if wd, ok := g.add(at.fd, at.mask, w); ok {
			w.wds = append(w.wds, wd)
		}
	}
}

// check proves the lock anew and acts on what it finds. It also runs on a slow
// tick, for file systems that report no events.
func (w *watched) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.timer.Reset(guardTick)
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
	w.k.asked()
	w.noteMove()
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

// prove asks the kernel whether mark and lock are still ours and in place. A
// removed or replaced lock file is made anew: the mark was there all the time,
// so nobody else can have become owner. rewatch says that files changed; lost,
// when not empty, why the lock cannot be proven any more.
func (k *core) prove() (rewatch bool, lost string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return false, ""
	}
	if k.c.dir.Gone() {
		return false, "the data directory was removed"
	}
	marked, err := k.has(k.c.dir.FD())
	if err != nil {
		return false, "" // not answered is not lost; the next tick asks again
	}
	if k.joined {
		if !marked {
			return false, "the mark on the directory is gone"
		}
		return false, ""
	}
	locked, err := k.has(k.c.lock.FD())
	moved := errors.Is(k.c.state.SameLock(k.c.lock), datadir.ErrMoved)
	switch {
	case err != nil:
		return false, ""
	case !marked || !locked:
		return false, k.retake(moved)
	case moved:
		k.renew()
		return true, ""
	}
	k.keepRecord()
	k.keepHistory()
	return false, ""
}

// has asks the kernel whether our own description carries the lock or the mark.
// Asking through another description would not tell ours from somebody else's.
func (k *core) has(fd uintptr) (bool, error) {
	info, err := self().proc.FDInfo(0, int(fd))
	return err == nil && slices.ContainsFunc(info.Locks, isOurs), err
}

// retake deals with a lock or mark that is gone: a child that shares the
// descriptors can unlock for everyone. If lock and mark can be had again and
// the record is still ours, nobody was owner in between, since every owner
// writes its record before it begins.
func (k *core) retake(moved bool) (lost string) {
	if moved {
		return "the lock file is gone, and lock or mark were given up by a process that shares them"
	}
	if err := oslock.TryLock(k.c.lock.FD(), oslock.Owner); err != nil {
		return "the lock was given up by a process that shares it, and another one has it now"
	}
	if err := oslock.TryMark(k.c.dir.FD(), oslock.Owner); err != nil {
		return "the mark was given up by a process that shares it, and cannot be had again"
	}
	if !k.alone() {
		k.c.unlock()
		return "the lock was given up by a process that shares it, and another one may have become owner"
	}
	k.noteLocked(Event{Kind: journal.LockRemoved, Detail: "a process that shares the descriptors gave up the lock; taken again before anybody else had it"})
	return ""
}

// alone asks the two questions of every start, and whether the record is ours. A
// foreign mark may be that of a process below us that has joined.
func (k *core) alone() bool {
	marked, err := oslock.Held(k.c.dir.FD(), oslock.Owner)
	if marked {
		var joined bool
		joined, err = oslock.Held(k.c.lock.FD(), oslock.Seat)
		marked = !joined
	}
	return err == nil && !marked && k.c.state.SameLock(k.c.lock) == nil && k.recordOurs()
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

// guardian reads the events of all watched locks of this process.
type guardian struct {
	fd     int
	events *os.File
	mu     sync.Mutex
	locks  map[int32]*watched
}

// theGuardian is the one guardian of this process: inotify instances are few,
// and closing one takes the kernel 10 ms.
var theGuardian struct {
	once sync.Once
	g    guardian
}

func guards() *guardian {
	g := &theGuardian.g
	theGuardian.once.Do(func() {
		g.fd, g.locks = -1, map[int32]*watched{}
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
		if err != nil {
			return // out of instances: the slow tick remains
		}
		g.fd, g.events = fd, os.NewFile(uintptr(fd), "inotify")
		go g.run()
	})
	return g
}

func (g *guardian) add(fd uintptr, mask uint32, w *watched) (int32, bool) {
	wd, err := unix.InotifyAddWatch(g.fd, fmt.Sprintf("/proc/self/fd/%d", fd), mask)
	if err != nil {
		return 0, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.locks[int32(wd)] = w
	return int32(wd), true
}

func (g *guardian) forget(wds []int32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, wd := range wds {
		if _, ok := g.locks[wd]; ok {
			delete(g.locks, wd)
			unix.InotifyRmWatch(g.fd, uint32(wd))
		}
	}
}

// run wakes each lock that something happened to.
func (g *guardian) run() {
	buf := make([]byte, 64<<10)
	for {
		n, err := g.events.Read(buf)
		if err != nil {
			return
		}
		for _, w := range g.touched(buf[:n]) {
			w.check()
		}
	}
}

func (g *guardian) touched(events []byte) []*watched {
	g.mu.Lock()
	defer g.mu.Unlock()
	seen := map[*watched]bool{}
	var all []*watched
	for _, wd := range watchesOf(events) {
		if w := g.locks[wd]; w != nil && !seen[w] {
			seen[w] = true
			all = append(all, w)
		}
	}
	return all
}
