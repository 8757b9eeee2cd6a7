package solehold

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// blindest bounds a sleep in which no process can be watched.
const blindest = safetyTick

// pause sleeps for a fraction of a millisecond. Go's own sleep rounds that up to
// a whole one in a process that does nothing else.
func pause(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	unix.Nanosleep(&ts, nil)
}

// deafTick bounds a sleep without inotify, which a user can run out of: what it
// would have told is looked for then.
const deafTick = 100 * time.Millisecond

// bell rings when a file of interest is closed, removed or made. The
// descriptors are in Go's poller: no thread waits in the kernel for them.
type bell struct {
	events *os.File
	fd     int
	mute   *os.File // the other end of a pipe that never tells, in inotify's place
}

func newBell() (*bell, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err == nil {
		return &bell{events: os.NewFile(uintptr(fd), "inotify"), fd: fd}, nil
	}
	b := &bell{fd: -1}
	if b.events, b.mute, err = os.Pipe(); err != nil {
		return nil, err
	}
	return b, nil
}

// follow watches what is at the paths now; watching the same file again changes
// nothing. Closing is how holders let go; creation is how a lock file comes back.
func (b *bell) follow(lock string) {
	unix.InotifyAddWatch(b.fd, filepath.Dir(lock), unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_DELETE|unix.IN_ONLYDIR|unix.IN_DONT_FOLLOW)
	unix.InotifyAddWatch(b.fd, lock, unix.IN_CLOSE_WRITE|unix.IN_DELETE_SELF|unix.IN_DONT_FOLLOW)
}

func (b *bell) close() {
	if b != nil {
		b.events.Close()
		b.mute.Close()
	}
}

// sleep returns when something happened, the holder ended, ctx ended, or after
// the safety tick.
func (b *bell) sleep(ctx context.Context, w *waiting) {
	longest := safetyTick
	if b.mute != nil {
		longest = deafTick
	}
	b.events.SetReadDeadline(time.Now().Add(longest))
	awake := make(chan struct{})
	defer close(awake)
	watched := w.mine != nil
	if watched {
		go b.ringWhen(w.mine.gone, awake)
	} else if h := watchProcess(w.held.Holder().PID, b.ring); h != nil {
		watched = true
		defer h.Close()
	}
	if tick := w.blindTick(watched); !watched {
		b.events.SetReadDeadline(time.Now().Add(min(tick, longest)))
	}
	stop := context.AfterFunc(ctx, b.ring)
	defer stop()
	buf := make([]byte, 4096)
	b.events.Read(buf)
}

// ring ends the sleep.
func (b *bell) ring() { b.events.SetReadDeadline(time.Unix(1, 0)) }

// watchProcess calls ring when the process ends.
func watchProcess(pid int, ring func()) *os.File {
	if pid <= 0 {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil
	}
	go raw.Read(func(fd uintptr) bool {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, _ := unix.Poll(p, 0)
		if n > 0 {
			ring()
		}
		return n > 0
	})
	return f
}
