//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package solehold

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// blindest bounds a sleep in which no process can be watched: nothing tells here
// that a file was closed.
const blindest = time.Second

func pause(d time.Duration) { time.Sleep(d) }

// bell rings when a file of interest is written to, removed or made. A thread
// waits in the kernel for it.
type bell struct {
	kq         int
	out, in    *os.File // a pipe that ends a sleep
	lock, home *os.File // the lock file and its directory, as far as they could be opened
}

func newBell() (*bell, error) {
	kq, err := unix.Kqueue()
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(kq)
	b := &bell{kq: kq}
	if b.out, b.in, err = os.Pipe(); err == nil {
		err = b.add(int(b.out.Fd()), unix.EVFILT_READ, 0) // told once for each ring, so that nobody need read
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bell) add(ident, filter int, notes uint32) error {
	var k unix.Kevent_t
	unix.SetKevent(&k, ident, filter, unix.EV_ADD|unix.EV_CLEAR)
	k.Fflags = notes
	_, err := unix.Kevent(b.kq, []unix.Kevent_t{k}, nil, nil)
	return err
}

// follow watches what is at the paths now. Writing the record is how holders let
// go; creation is how a lock file comes back.
func (b *bell) follow(lock string) {
	const notes = unix.NOTE_WRITE | unix.NOTE_DELETE | unix.NOTE_RENAME | unix.NOTE_REVOKE
	b.lock = b.watch(b.lock, lock, notes)
	b.home = b.watch(b.home, filepath.Dir(lock), notes)
}

// watch keeps the file that is open while the path leads to it.
func (b *bell) watch(f *os.File, path string, notes uint32) *os.File {
	there, err := os.Lstat(path)
	if f != nil {
		if mine, statErr := f.Stat(); err == nil && statErr == nil && os.SameFile(there, mine) {
			return f
		}
		f.Close() // which ends its watch
	}
	if err != nil {
		return nil
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	if b.add(fd, unix.EVFILT_VNODE, notes) != nil {
		unix.Close(fd)
		return nil
	}
	return os.NewFile(uintptr(fd), path)
}

func (b *bell) close() {
	if b == nil {
		return
	}
	for _, f := range []*os.File{b.out, b.in, b.lock, b.home} {
		if f != nil {
			f.Close()
		}
	}
	unix.Close(b.kq)
}

// sleep returns when something happened, the holder ended, ctx ended, or after
// the safety tick.
func (b *bell) sleep(ctx context.Context, w *waiting) {
	awake := make(chan struct{})
	defer close(awake)
	watched := w.mine != nil
	if watched {
		go b.ringWhen(w.mine.gone, awake)
	} else if pid := w.held.Holder().PID; pid > 0 {
		watched = b.add(pid, unix.EVFILT_PROC, unix.NOTE_EXIT) == nil
	}
	stop := context.AfterFunc(ctx, b.ring)
	defer stop()
	limit := unix.NsecToTimespec(int64(w.blindTick(watched)))
	var rung [8]unix.Kevent_t
	unix.Kevent(b.kq, nil, rung[:], &limit)
}

// ring ends the sleep.
func (b *bell) ring() { b.in.Write([]byte{0}) }
