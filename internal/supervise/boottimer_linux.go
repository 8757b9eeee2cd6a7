//go:build !solehold_portable

package supervise

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// bootTimer runs out at a time since boot, also when the machine sleeps until then:
// Go's own timers would be late by that.
type bootTimer struct {
	file *os.File
	out  chan struct{}
}

func newBootTimer() (*bootTimer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	t := &bootTimer{os.NewFile(uintptr(fd), "timerfd"), make(chan struct{}, 1)}
	go func() {
		count := make([]byte, 8)
		for {
			if _, err := t.file.Read(count); err != nil {
				return // it was closed
			}
			select {
			case t.out <- struct{}{}:
			default:
			}
		}
	}()
	return t, nil
}

// set replaces the time before; one that has passed runs out at once.
func (t *bootTimer) set(at time.Duration) {
	raw, err := t.file.SyscallConn()
	if err != nil {
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(int64(at), 1))} // 0 would disarm it
	raw.Control(func(fd uintptr) { unix.TimerfdSettime(int(fd), unix.TFD_TIMER_ABSTIME, &spec, nil) })
}

func (t *bootTimer) stop() { t.file.Close() }
