package solehold_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/oslock"
	"golang.org/x/sys/unix"
)

// systemOrders are those for Linux alone.
func (a *actor) systemOrders() map[string]func(order) answer {
	return map[string]func(order) answer{
		"unlock":    unlockInherited,
		"asked":     a.asked,
		"request":   request,
		"umask":     func(o order) answer { return answer{N: unix.Umask(o.N)} },
		"mount":     mount,
		"files":     limitFiles,
		"failcalls": failCalls,
		"slow":      a.slowRelease,
	}
}

// asked answers when the holder is asked to let go, within N milliseconds.
func (a *actor) asked(o order) answer {
	select {
	case <-a.lock.ReleaseRequested():
		return answer{}
	case <-time.After(time.Duration(o.N) * time.Millisecond):
		return answer{Text: "nobody asked"}
	}
}

// request asks the holder with token N to let go and waits for that.
func request(o order) answer {
	p, err := solehold.RequestRelease(context.Background(), o.Dir, solehold.ReleaseRequest{Token: uint64(o.N)}, patient())
	if err != nil {
		return failure(err)
	}
	defer p.Withdraw()
	return timed(func() error { return p.Wait(context.Background()) })
}

// unlockInherited gives up lock and mark for all who share the descriptors.
func unlockInherited(order) answer {
	return failure(errors.Join(oslock.Unlock(3, oslock.Owner), oslock.Unlock(4, oslock.Owner)))
}

// mount is mount(2): source, target, type, data; N are the flags.
func mount(o order) answer {
	return failure(unix.Mount(o.Args[0], o.Args[1], o.Args[2], uintptr(o.N), o.Args[3]))
}

// limitFiles leaves room for N more descriptors.
func limitFiles(o order) answer {
	var lim unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim)
	lim.Cur = min(1000, lim.Max)
	err = errors.Join(err, unix.Setrlimit(unix.RLIMIT_NOFILE, &lim))
	f, openErr := os.Open(os.DevNull)
	if err = errors.Join(err, openErr); err != nil {
		return failure(err)
	}
	defer f.Close()
	lim.Cur = uint64(int(f.Fd()) + o.N)
	return failure(unix.Setrlimit(unix.RLIMIT_NOFILE, &lim))
}

// failCalls makes every fcntl(2) with command Args[0] of this process fail with
// errno N, by a seccomp filter on all its threads.
func failCalls(o order) answer {
	command, err := strconv.ParseUint(o.Args[0], 10, 32)
	if err != nil {
		return failure(err)
	}
	const (
		load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equals = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		end    = unix.BPF_RET | unix.BPF_K
		number = 0      // offsets in struct seccomp_data
		second = 16 + 8 // the low half of the second argument
	)
	filter := []unix.SockFilter{
		{Code: load, K: number},
		{Code: equals, K: unix.SYS_FCNTL, Jf: 3},
		{Code: load, K: second},
		{Code: equals, K: uint32(command), Jf: 1},
		{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(o.N)},
		{Code: end, K: unix.SECCOMP_RET_ALLOW},
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return failure(err)
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	const setFilter = 1 // SECCOMP_SET_MODE_FILTER
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, setFilter, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return failure(errno)
	}
	return answer{}
}

// slowRelease logs until that hangs, which tells that the self-check of the
// lock hangs, and then releases.
func (a *actor) slowRelease(order) answer {
	for !errors.Is(a.lock.Log(solehold.Event{Kind: "health"}), solehold.ErrUnanswered) {
	}
	return timed(a.lock.Release)
}
