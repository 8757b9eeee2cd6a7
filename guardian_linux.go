package solehold

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// watchID is an inotify watch descriptor.
type watchID = int32

// guardian reads the events of all watched locks of this process.
type guardian struct {
	mu     sync.Mutex
	events *os.File // nil where the user has no more inotify instances
	fd     int
	locks  map[watchID]*watched
}

// theGuardian is the one guardian of this process: inotify instances are few,
// and closing one takes the kernel 10 ms.
var theGuardian guardian

func guards() *guardian { return &theGuardian }

// listen opens the instance. It is tried again for each lock that hears nothing:
// others give theirs back.
func (g *guardian) listen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.events != nil {
		return true
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return false
	}
	g.fd, g.events, g.locks = fd, os.NewFile(uintptr(fd), "inotify"), map[watchID]*watched{}
	go g.run(g.events)
	return true
}

// follow watches the directories and the lock file of a lock, whose k.mu the
// caller has.
func (g *guardian) follow(w *watched) (ids []watchID) {
	if !g.listen() {
		return nil
	}
	const own = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF
	for _, at := range []struct {
		fd   uintptr
		mask uint32
	}{
		{w.k.c.dir.FD(), own},
		{w.k.c.state.FD(), own | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_CLOSE_WRITE},
		{w.k.c.lock.FD(), unix.IN_MODIFY}, // an owner beside us writes its record
	} {
		if id, ok := g.add(at.fd, at.mask, w); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

func (g *guardian) add(fd uintptr, mask uint32, w *watched) (watchID, bool) {
	wd, err := unix.InotifyAddWatch(g.fd, fmt.Sprintf("/proc/self/fd/%d", fd), mask)
	if err != nil {
		return 0, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.locks[watchID(wd)] = w
	return watchID(wd), true
}

func (g *guardian) forget(wds []watchID) {
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
func (g *guardian) run(events *os.File) {
	buf := make([]byte, 64<<10)
	for {
		n, err := events.Read(buf)
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
