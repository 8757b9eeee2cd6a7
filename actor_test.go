package solehold_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/solehold/solehold"
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
		<-time.After(time.Hour) // not for ever, which the runtime would call a deadlock
	}
}

func (a *actor) obey(o order) answer {
	all := map[string]func(order) answer{
		"hello":   func(order) answer { return answer{N: os.Getpid()} },
		"acquire": a.acquire,
		"release": func(order) answer { return timed(a.lock.Release) },
		"joined":  func(order) answer { return answer{Joined: a.lock.Joined()} },
		"inspect": inspect,
		"lost":    a.lost,
		"try":     try,
		"drop":    drop,
		"child":   a.passOn,
		"share":   a.share,
		"chdir":   func(o order) answer { return failure(os.Chdir(o.Dir)) },
	}
	maps.Copy(all, a.systemOrders())
	do := all[o.Do]
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
		lock, err := solehold.Acquire(context.Background(), o.Dir, patient())
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
	if _, err := solehold.Acquire(context.Background(), o.Dir, patient()); err != nil {
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
