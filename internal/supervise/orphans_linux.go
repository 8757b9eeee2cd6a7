package supervise

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
	"golang.org/x/sys/unix"
)

// stopHolders stops the processes that keep the directory after their wrapper
// was killed: those that the kernel shows to share the lock's descriptor, and
// what runs below them.
func stopHolders(ctx context.Context, c Config) error {
	status, err := solehold.Inspect(ctx, c.Dir, &c.Options)
	if err != nil || status.Owner == nil || !status.Owner.WrapperGone {
		return err
	}
	o := orphans{proc: procfs.Default()}
	defer o.close()
	for _, pid := range holders(*status.Owner) {
		o.add(pid)
	}
	// Each is proven once more behind its descriptor: a pid may have changed
	// hands since the kernel was asked.
	status, err = solehold.Inspect(ctx, c.Dir, &c.Options)
	if err != nil || status.Owner == nil {
		return err
	}
	o.keep(holders(*status.Owner))
	return o.stop(c)
}

func holders(o solehold.Owner) []int {
	if !slices.Contains(o.Sharing, o.PID) {
		return append([]int{o.PID}, o.Sharing...)
	}
	return o.Sharing
}

// stopOrphan stops a process that is proven to be the child of an earlier run,
// and what runs below it.
func stopOrphan(_ context.Context, c Config, owner solehold.Owner) error {
	o := orphans{proc: procfs.Default()}
	defer o.close()
	h, err := open(o.proc, owner.PID, owner.StartTicks)
	if err != nil {
		return nil // it ended meanwhile
	}
	o.handles = map[int]*procid.Handle{owner.PID: h}
	return o.stop(c)
}

// orphans are processes that will be stopped, each held by a descriptor.
type orphans struct {
	proc    procfs.FS
	handles map[int]*procid.Handle
}

func (o *orphans) add(pid int) {
	if o.handles == nil {
		o.handles = map[int]*procid.Handle{}
	}
	if o.handles[pid] != nil {
		return
	}
	id, err := procid.Of(o.proc, pid)
	if err != nil {
		return
	}
	if h, err := procid.Open(o.proc, id); err == nil {
		o.handles[pid] = h
	}
}

func (o *orphans) keep(pids []int) {
	for pid, h := range o.handles {
		if !slices.Contains(pids, pid) {
			h.Close()
			delete(o.handles, pid)
		}
	}
}

// addBelow takes in the descendants of those that are held: while the parent is
// held by its descriptor and lives, its children are its own.
func (o *orphans) addBelow() {
	t := tree{proc: o.proc}
	for pid, h := range o.handles {
		if h.Ended() {
			continue
		}
		t.self = pid
		for _, m := range t.members() {
			if !h.Ended() {
				o.add(m.PID)
			}
		}
	}
}

// stop asks all of them to end, waits for the grace period and kills the rest.
func (o *orphans) stop(c Config) error {
	o.addBelow()
	o.signal(c.StopSignal)
	o.signal(syscall.SIGCONT)
	if o.wait(c.Grace) {
		return nil
	}
	o.addBelow()
	o.signal(syscall.SIGKILL)
	if !o.wait(c.Grace) {
		return fmt.Errorf("%s: processes of an earlier run do not end even after SIGKILL; nothing was started", c.Dir)
	}
	return nil
}

func (o *orphans) signal(s syscall.Signal) {
	for _, h := range o.handles {
		h.Signal(s)
	}
}

// wait returns true when all have ended, false after the time.
func (o *orphans) wait(most time.Duration) bool {
	end := time.Now().Add(most)
	for {
		var alive []unix.PollFd
		for _, h := range o.handles {
			if !h.Ended() {
				alive = append(alive, unix.PollFd{Fd: int32(h.FD()), Events: unix.POLLIN})
			}
		}
		left := time.Until(end)
		if len(alive) == 0 || left <= 0 {
			return len(alive) == 0
		}
		unix.Poll(alive[:1], int(min(left, time.Second).Milliseconds())+1)
	}
}

func (o *orphans) close() {
	for _, h := range o.handles {
		h.Close()
	}
}
