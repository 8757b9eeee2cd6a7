package cluster

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// boottime is CLOCK_BOOTTIME: nobody can set it, and it counts suspended time. Its timers are timerfds on the same clock,
// which run out during a suspend; Go's own are late by as much as the machine slept.
type boottime struct{}

// SystemClock is the clock of this system that deadlines should run on: CLOCK_BOOTTIME on Linux.
func SystemClock() Clock { return boottime{} }

// Now is a system call, Wall is not.
func (boottime) Now() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil { // it cannot fail for this clock
		return 0
	}
	return time.Duration(ts.Nano())
}

func (boottime) Wall() time.Duration { return time.Duration(time.Now().UnixNano()) }

// Timer makes a timerfd and a goroutine that reads it until it is stopped.
func (boottime) Timer(f func()) (Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	t := &timerfd{os.NewFile(uintptr(fd), "timerfd")}
	go t.serve(f)
	return t, nil
}

type timerfd struct{ file *os.File }

func (t *timerfd) serve(f func()) {
	count := make([]byte, 8)
	for {
		if _, err := t.file.Read(count); err != nil {
			return // it was closed
		}
		f()
	}
}

// Set sets the absolute time. 0 would disarm it.
func (t *timerfd) Set(at time.Duration) {
	raw, err := t.file.SyscallConn()
	if err != nil {
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(int64(at), 1))}
	raw.Control(func(fd uintptr) { unix.TimerfdSettime(int(fd), unix.TFD_TIMER_ABSTIME, &spec, nil) })
}

func (t *timerfd) Stop() { t.file.Close() }
