package solehold_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/oslock"
	"golang.org/x/sys/unix"
)

// actor is the inside of an agent.
type actor struct {
	lock  *solehold.Lock
	child *agent
	out   *json.Encoder
}

// serve obeys orders until there are no more of them. An agent that stays then
// waits for its end; it must be killed.
func serve(stay bool) {
	a := &actor{out: json.NewEncoder(os.Stdout)}
	in := json.NewDecoder(os.Stdin)
	for {
		var o order
		if err := in.Decode(&o); err != nil {
			break
		}
		if err := a.out.Encode(a.obey(o)); err != nil {
			break
		}
	}
	if stay {
		select {}
	}
}

func (a *actor) obey(o order) answer {
	do := map[string]func(order) answer{
		"hello":     func(order) answer { return answer{N: os.Getpid()} },
		"acquire":   a.acquire,
		"release":   func(order) answer { return timed(a.lock.Release) },
		"inspect":   inspect,
		"lost":      a.lost,
		"try":       try,
		"drop":      drop,
		"share":     a.share,
		"child":     a.passOn,
		"unlock":    unlockInherited,
		"chdir":     func(o order) answer { return failure(os.Chdir(o.Dir)) },
		"umask":     func(o order) answer { return answer{N: unix.Umask(o.N)} },
		"mount":     mount,
		"files":     limitFiles,
		"failcalls": failCalls,
		"slow":      a.slowRelease,
	}[o.Do]
	if do == nil {
		return answer{Text: "no such order: " + o.Do}
	}
	return do(o)
}

func timed(call func() error) answer {
	begin := time.Now()
	a := failure(call())
	a.Took = time.Since(begin)
	return a
}

// acquire tells of waiting before the end.
func (a *actor) acquire(o order) answer {
	options := o.With.options()
	var warnings []string
	options.OnWarning = func(err error) { warnings = append(warnings, err.Error()) }
	options.OnWait = func(h *solehold.HeldError) { a.out.Encode(answer{Waiting: true, Owner: h.Holder(), N: os.Getpid()}) }
	var lock *solehold.Lock
	got := timed(func() (err error) {
		lock, err = solehold.Acquire(context.Background(), o.Dir, options)
		return err
	})
	got.Warnings = warnings
	if lock != nil {
		a.lock, got.Token = lock, lock.Token()
	}
	return got
}

func inspect(o order) answer {
	var s solehold.Status
	got := timed(func() (err error) {
		s, err = solehold.Inspect(context.Background(), o.Dir, o.With.options())
		return err
	})
	got.Status = s
	if got.ok() && s.Err != nil {
		got = answer{Took: got.Took, Status: s, Warnings: []string{s.Err.Error()}}
	}
	return got
}

// lost answers when the lock is lost, or after N milliseconds.
func (a *actor) lost(o order) answer {
	timer := time.NewTimer(time.Duration(o.N) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-a.lock.Context().Done():
		return failure(context.Cause(a.lock.Context()))
	case <-timer.C:
		return answer{}
	}
}

// try tries N times and counts how often it was refused with ErrHeld. Any other
// end is the answer.
func try(o order) answer {
	for i := range o.N {
		lock, err := solehold.Acquire(context.Background(), o.Dir, nil)
		if err == nil {
			lock.Release()
			return answer{Text: "the directory was free", N: i}
		}
		if !errors.Is(err, solehold.ErrHeld) {
			return failure(err)
		}
	}
	return answer{N: o.N}
}

// drop takes a lock, forgets it and collects garbage N times.
func drop(o order) answer {
	if _, err := solehold.Acquire(context.Background(), o.Dir, nil); err != nil {
		return failure(err)
	}
	for range o.N {
		runtime.GC()
	}
	return answer{}
}

// share starts a child of this agent. With N = 1 it inherits the lock.
func (a *actor) share(o order) answer {
	cmd := partOf("survivor")
	if o.N == 1 {
		inheriting(a.lock.Share()...)(cmd)
	}
	cmd.Env = append(cmd.Env, solehold.DirVar+"="+a.lock.Dir(), solehold.TokenVar+"="+strconv.FormatUint(a.lock.Token(), 10))
	child, err := newAgent(cmd)
	if err != nil {
		return failure(err)
	}
	a.child = child
	return answer{N: child.pid}
}

func (a *actor) passOn(o order) answer {
	got, err := a.child.ask(*o.Child)
	if err != nil {
		return failure(err)
	}
	return got
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

// inspectForEver inspects a directory until its input ends and then prints how
// often it saw each state.
func inspectForEver() {
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	seen := map[solehold.State]int{}
	for {
		select {
		case <-ended:
			json.NewEncoder(os.Stdout).Encode(seen)
			return
		default:
		}
		s, err := solehold.Inspect(context.Background(), os.Args[1], nil)
		if err != nil {
			s.State = solehold.State(err.Error())
		}
		seen[s.State]++
	}
}
