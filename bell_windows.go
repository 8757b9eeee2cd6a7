package solehold

import (
	"context"
	"path/filepath"
	"time"

	"github.com/solehold/solehold/internal/oslock"
	"golang.org/x/sys/windows"
)

// blindest bounds a sleep in which no process can be watched.
const blindest = time.Second

func pause(d time.Duration) { time.Sleep(d) }

// bell rings when the lock is free, the state directory changes, or the holder
// ends. A thread waits in the kernel for it.
type bell struct {
	rung    windows.Handle // an event that ends a sleep
	changes windows.Handle // 0 where the directory cannot be watched
	path    string         // of the lock
}

func newBell() (*bell, error) {
	rung, err := windows.CreateEvent(nil, 0, 0, nil)
	if err != nil {
		return nil, err
	}
	return &bell{rung: rung}, nil
}

// follow watches the directory of the lock.
func (b *bell) follow(lock string) {
	if b.changes != 0 && lock == b.path {
		return
	}
	b.unfollow()
	b.path = lock
	h, err := windows.FindFirstChangeNotification(filepath.Dir(lock), false, windows.FILE_NOTIFY_CHANGE_FILE_NAME|windows.FILE_NOTIFY_CHANGE_LAST_WRITE)
	if err == nil {
		b.changes = h
	}
}

func (b *bell) unfollow() {
	if b.changes != 0 {
		windows.FindCloseChangeNotification(b.changes)
		b.changes = 0
	}
}

func (b *bell) close() {
	if b != nil {
		b.unfollow()
		windows.CloseHandle(b.rung)
	}
}

// sleep returns when something happened, the holder ended, ctx ended, or after
// the safety tick.
func (b *bell) sleep(ctx context.Context, w *waiting) {
	awake := make(chan struct{})
	defer close(awake)
	on := []windows.Handle{b.rung}
	if b.changes != 0 {
		on = append(on, b.changes)
	}
	watched := w.mine != nil
	if watched {
		go b.ringWhen(w.mine.gone, awake)
	} else {
		if h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(w.held.Holder().PID)); err == nil {
			defer windows.CloseHandle(h)
			on, watched = append(on, h), true
		}
		if turn, err := oslock.NewTurn(b.path, oslock.Owner); err == nil {
			defer turn.Close()
			on = append(on, windows.Handle(turn.Event()))
		}
	}
	stop := context.AfterFunc(ctx, b.ring)
	defer stop()
	event, err := windows.WaitForMultipleObjects(on, false, uint32(w.blindTick(watched).Milliseconds()))
	if err == nil && b.changes != 0 && event == windows.WAIT_OBJECT_0+1 {
		windows.FindNextChangeNotification(b.changes)
	}
}

// ring ends the sleep.
func (b *bell) ring() { windows.SetEvent(b.rung) }
