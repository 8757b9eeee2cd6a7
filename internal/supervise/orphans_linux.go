package supervise

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
	"golang.org/x/sys/unix"
)

const (
	// holderRounds bounds how often the holders are looked up anew: what a
	// stopped process had hidden, a descendant that left it, shows only then.
	holderRounds = 16
	// killWait is how long processes may take to be gone after SIGKILL.
	killWait = 10 * time.Second
)

// stopHolders stops the processes that keep the directory after their wrapper
// was killed, if that was asked for: those that the kernel shows to share the
// lock's descriptor, and what runs below them. It returns the owners it stopped.
func (r *runner) stopHolders(ctx context.Context) (stopped []solehold.Owner, err error) {
	if r.c.Orphans != OrphansStop {
		return nil, nil
	}
	for range holderRounds {
		owner, err := orphanedHolder(ctx, r.c)
		if err != nil || owner == nil {
			return stopped, err
		}
		r.c.Say("%s is held by what an earlier run left, %s; stopping it", r.c.Dir, owner)
		if err := stopHolder(ctx, r.c, *owner); err != nil {
			return stopped, err
		}
		stopped = append(stopped, *owner)
	}
	return stopped, fmt.Errorf("%s: what an earlier run left starts anew as often as it is stopped; nothing was started", r.c.Dir)
}

// orphanedHolder is the owner if it is proven to be one whose wrapper is gone. A
// directory that cannot be looked at has none; Acquire tells the reason.
func orphanedHolder(ctx context.Context, c Config) (*solehold.Owner, error) {
	status, err := solehold.Inspect(ctx, c.Dir, &c.Options)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	o := status.Owner
	if err != nil || o == nil || !o.WrapperGone || !o.Proven || above(holders(*o)) {
		return nil, nil
	}
	return o, nil
}

// above reports whether this process belongs to the tree of one of them: it must
// not stop itself.
func above(pids []int) bool {
	family := procfs.Default().Ancestors(0)
	return slices.Contains(pids, os.Getpid()) || slices.ContainsFunc(family, func(p procfs.Stat) bool {
		return slices.Contains(pids, p.PID)
	})
}

func stopHolder(ctx context.Context, c Config, owner solehold.Owner) error {
	o := orphans{proc: procfs.Default(), handles: map[int]*procid.Handle{}}
	defer o.close()
	for _, pid := range holders(owner) {
		if st, err := o.proc.Stat(pid); err == nil {
			o.add(st)
		}
	}
	// Each is proven once more behind its descriptor: a pid may have changed
	// hands since the kernel was asked.
	again, err := orphanedHolder(ctx, c)
	if err != nil || again == nil {
		return err
	}
	o.keep(holders(*again))
	return o.stop(ctx, c)
}

func holders(o solehold.Owner) []int {
	if !slices.Contains(o.Sharing, o.PID) {
		return append([]int{o.PID}, o.Sharing...)
	}
	return o.Sharing
}

// stopOrphan stops a process that is proven to be the child of an earlier run,
// and what runs below it.
func stopOrphan(ctx context.Context, c Config, owner solehold.Owner) error {
	o := orphans{proc: procfs.Default(), handles: map[int]*procid.Handle{}}
	defer o.close()
	o.add(procfs.Stat{PID: owner.PID, StartTicks: owner.StartTicks})
	return o.stop(ctx, c)
}

// orphans are processes that will be stopped, each held by a descriptor.
type orphans struct {
	proc    procfs.FS
	handles map[int]*procid.Handle
}

// add takes in a process that was just seen; one that has ended since is left out.
func (o *orphans) add(st procfs.Stat) {
	if o.handles[st.PID] != nil {
		return
	}
	if h, err := open(o.proc, st.PID, st.StartTicks); err == nil {
		o.handles[st.PID] = h
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
	for pid, h := range maps.Clone(o.handles) {
		t := tree{proc: o.proc, self: pid}
		if below := t.members(); !h.Ended() { // so pid was it all the time
			for _, m := range below {
				o.add(m)
			}
		}
	}
}

// stop asks all of them to end, waits for the grace period and kills the rest.
func (o *orphans) stop(ctx context.Context, c Config) error {
	o.addBelow()
	o.signal(c.StopSignal)
	o.signal(syscall.SIGCONT)
	if o.wait(ctx, c.Grace) {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	o.addBelow()
	o.signal(syscall.SIGKILL)
	if !o.wait(ctx, killWait) {
		return fmt.Errorf("%s: processes of an earlier run do not end even after SIGKILL; nothing was started", c.Dir)
	}
	return nil
}

func (o *orphans) signal(s syscall.Signal) {
	for _, h := range o.handles {
		h.Signal(s)
	}
}

// wait returns true when all have ended, false after the time or with ctx.
func (o *orphans) wait(ctx context.Context, most time.Duration) bool {
	const slice = 100 * time.Millisecond // how soon the end of ctx is seen
	end := time.Now().Add(most)
	for {
		var alive []unix.PollFd
		for _, h := range o.handles {
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

func (o *orphans) close() {
	for _, h := range o.handles {
		h.Close()
	}
}
