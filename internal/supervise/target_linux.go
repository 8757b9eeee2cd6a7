package supervise

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
	"golang.org/x/sys/unix"
)

// killWait is how long processes may take to be gone after SIGKILL.
const killWait = 10 * time.Second

var errDeathless = errors.New("processes do not end even after SIGKILL")

// target is processes that will be stopped although they are no children of this
// one. Each is held by a descriptor, so that no signal ever reaches another one.
type target struct {
	proc    procfs.FS
	handles map[int]*procid.Handle
}

// stopping is how they are stopped.
type stopping struct {
	signal syscall.Signal
	grace  time.Duration // between the signal and SIGKILL
}

func newTarget() *target {
	return &target{proc: procfs.Default(), handles: map[int]*procid.Handle{}}
}

// take takes in processes by their pids. They are not proven before whoever
// named them names them once more, now that they are held: see keep.
func (t *target) take(pids []int) {
	for _, pid := range pids {
		if st, err := t.proc.Stat(pid); err == nil {
			t.add(st)
		}
	}
}

// add takes in a process that was just seen; one that has ended since is left out.
func (t *target) add(st procfs.Stat) {
	if t.handles[st.PID] != nil {
		return
	}
	if h, err := open(t.proc, st.PID, st.StartTicks); err == nil {
		t.handles[st.PID] = h
	}
}

func (t *target) keep(pids []int) {
	for pid, h := range t.handles {
		if !slices.Contains(pids, pid) {
			h.Close()
			delete(t.handles, pid)
		}
	}
}

// pids lists them.
func (t *target) pids() []int { return slices.Sorted(maps.Keys(t.handles)) }

// addBelow takes in the descendants of those that are held: while the parent is
// held by its descriptor and lives, its children are its own.
func (t *target) addBelow() {
	for pid, h := range maps.Clone(t.handles) {
		family := tree{proc: t.proc, self: pid}
		if below := family.members(); !h.Ended() { // so pid was it all the time
			for _, m := range below {
				t.add(m)
			}
		}
	}
}

// stop asks all of them to end, waits for the grace period and kills the rest.
func (t *target) stop(ctx context.Context, how stopping) error {
	t.addBelow()
	if heard, err := t.signal(how.signal); heard == 0 && err != nil {
		return os.NewSyscallError("pidfd_send_signal", err)
	}
	t.signal(syscall.SIGCONT)
	if t.wait(ctx, how.grace) {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.addBelow()
	t.signal(syscall.SIGKILL)
	if !t.wait(ctx, killWait) {
		return errDeathless
	}
	return nil
}

// signal counts those that it reached. The error is that of one that lives and
// may not be signalled.
func (t *target) signal(s syscall.Signal) (heard int, err error) {
	for _, h := range t.handles {
		switch sendErr := h.Signal(s); sendErr {
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
		var alive []unix.PollFd
		for _, h := range t.handles {
			if !h.Ended() {
				alive = append(alive, unix.PollFd{Fd: int32(h.FD()), Events: unix.POLLIN})
			}
		}
		left := time.Until(end)
		if len(alive) == 0 || left <= 0 || ctx.Err() != nil {
			return len(alive) == 0
		}
		unix.Poll(alive[:1], int(min(left, slice).Milliseconds())+1)
	}
}

func (t *target) close() {
	for _, h := range t.handles {
		h.Close()
	}
}
