//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package solehold

import (
	"sync"

	"golang.org/x/sys/unix"
)

// watchID is a descriptor of the guardian's own.
type watchID = int

// guardian reads the events of all watched locks of this process.
type guardian struct {
	kq    int
	mu    sync.Mutex
	locks map[watchID]*watched
}

// theGuardian is the one guardian of this process: it needs a thread.
var theGuardian struct {
	once sync.Once
	g    guardian
}

func guards() *guardian {
	g := &theGuardian.g
	theGuardian.once.Do(func() {
		g.locks = map[watchID]*watched{}
		kq, err := unix.Kqueue()
		if g.kq = kq; err != nil {
			return // the slow tick remains
		}
		unix.CloseOnExec(kq)
		go g.run()
	})
	return g
}

// follow watches the directories and the lock file of a lock, whose k.mu the
// caller has. Earlier watches end: each has a descriptor.
func (g *guardian) follow(w *watched) (ids []watchID) {
	g.forget(w.ids)
	w.ids = nil
	const own = unix.NOTE_DELETE | unix.NOTE_RENAME | unix.NOTE_REVOKE
	for _, at := range []struct {
		fd    uintptr
		notes uint32
	}{
		{w.k.c.dir.FD(), own},
		{w.k.c.state.FD(), own | unix.NOTE_WRITE},
		{w.k.c.lock.FD(), own | unix.NOTE_WRITE}, // an owner beside us writes its record
	} {
		if id, ok := g.add(at.fd, at.notes, w); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

func (g *guardian) add(fd uintptr, notes uint32, w *watched) (watchID, bool) {
	id, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var k unix.Kevent_t
	unix.SetKevent(&k, id, unix.EVFILT_VNODE, unix.EV_ADD|unix.EV_CLEAR)
	k.Fflags = notes
	if _, err := unix.Kevent(g.kq, []unix.Kevent_t{k}, nil, nil); err != nil {
		unix.Close(id)
		return 0, false
	}
	g.locks[id] = w
	return id, true
}

// forget closes the descriptors, which ends their watches.
func (g *guardian) forget(ids []watchID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range ids {
		delete(g.locks, id)
		unix.Close(id)
	}
}

// run wakes each lock that something happened to.
func (g *guardian) run() {
	var events [32]unix.Kevent_t
	for {
		n, err := unix.Kevent(g.kq, nil, events[:], nil)
		if err != nil && err != unix.EINTR {
			return
		}
		for _, w := range g.touched(events[:max(n, 0)]) {
			w.check()
		}
	}
}

func (g *guardian) touched(events []unix.Kevent_t) []*watched {
	g.mu.Lock()
	defer g.mu.Unlock()
	seen := map[*watched]bool{}
	var all []*watched
	for _, e := range events {
		if w := g.locks[watchID(e.Ident)]; w != nil && !seen[w] {
			seen[w] = true
			all = append(all, w)
		}
	}
	return all
}
