package supervise

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"
)

// killWait is how long processes may take to be gone after SIGKILL.
const killWait = 10 * time.Second

var errDeathless = errors.New("processes do not end even after SIGKILL")

// birth names a process: its number, and when it started.
type birth struct {
	pid   int
	start uint64 // as the system tells it
}

// target is processes that will be stopped although they are no children of this
// one. Each is held by a handle, so that no signal ever reaches another one.
type target struct {
	grips map[int]*grip
	spare func(pid int) bool // what gets no signal; may be nil
}

// stopping is how they are stopped.
type stopping struct {
	signal syscall.Signal
	grace  time.Duration // between the signal and SIGKILL
}

func newTarget() *target { return &target{grips: map[int]*grip{}} }

// take takes in processes by their pids. They are not proven before whoever
// named them names them once more, now that they are held: see keep.
func (t *target) take(pids []int) {
	for _, pid := range pids {
		if b, err := birthOf(pid); err == nil {
			t.add(b)
		}
	}
}

// add takes in a process that was just seen; one that has ended since is left out.
func (t *target) add(b birth) {
	if t.grips[b.pid] != nil {
		return
	}
	if g, err := grasp(b); err == nil {
		t.grips[b.pid] = g
	}
}

func (t *target) keep(pids []int) {
	for pid, g := range t.grips {
		if !slices.Contains(pids, pid) {
			g.Close()
			delete(t.grips, pid)
		}
	}
}

// pids lists them.
func (t *target) pids() []int { return slices.Sorted(maps.Keys(t.grips)) }

// addBelow takes in the descendants of those that are held: while the parent is
// held and lives, its children are its own.
func (t *target) addBelow() {
	for pid, g := range maps.Clone(t.grips) {
		if g.Ended() {
			continue // each look at what is below goes through all processes
		}
		if below := birthsBelow(pid); !g.Ended() { // so pid was it all the time
			for _, b := range below {
				t.add(b)
			}
		}
	}
}

// stop asks all of them to end, waits for the grace period and kills the rest.
func (t *target) stop(ctx context.Context, how stopping) error {
	t.addBelow()
	switch heard, err := t.ask(how.signal); {
	case err == nil || heard > 0:
		if t.wait(ctx, how.grace) {
			return nil
		}
	case !errors.Is(err, errors.ErrUnsupported): // then nobody can be asked here
		return os.NewSyscallError(sendCall, err)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.freeze()
	if heard, err := t.signal(syscall.SIGKILL); heard == 0 && err != nil {
		return os.NewSyscallError(sendCall, err)
	}
	if !t.wait(ctx, killWait) {
		return errDeathless
	}
	return nil
}

// signal counts those that it reached. The error is that of one that lives and
// may not be signalled.
func (t *target) signal(s syscall.Signal) (heard int, err error) {
	for pid, g := range t.grips {
		if t.spare != nil && t.spare(pid) {
			continue
		}
		switch sendErr := g.Signal(s); sendErr {
		case nil, syscall.ESRCH:
			heard++
		default:
			err = sendErr
		}
	}
	return heard, err
}

// wait returns true when all have ended, false after the time or with ctx.
func (t *target) wait(ctx context.Context, most time.Duration) bool {
	const slice = 100 * time.Millisecond // how soon the end of ctx is seen
	end := time.Now().Add(most)
	for {
		var alive *grip
		for _, g := range t.grips {
			if !g.Ended() {
				alive = g
			}
		}
		left := time.Until(end)
		if alive == nil || left <= 0 || ctx.Err() != nil {
			return alive == nil
		}
		await(alive, min(left, slice))
	}
}

func (t *target) close() {
	for _, g := range t.grips {
		g.Close()
	}
}
