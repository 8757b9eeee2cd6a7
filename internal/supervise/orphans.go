package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/solehold/solehold"
)

// holderRounds bounds how often the holders are looked up anew: what a stopped
// process had hidden, a descendant that left it, shows only then.
const holderRounds = 16

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
	return slices.Contains(pids, os.Getpid()) || slices.ContainsFunc(ancestors(0), func(pid int) bool {
		return slices.Contains(pids, pid)
	})
}

func stopHolder(ctx context.Context, c Config, owner solehold.Owner) error {
	t := newTarget()
	defer t.close()
	t.take(holders(owner))
	// Each is proven once more behind its descriptor: a pid may have changed
	// hands since the kernel was asked.
	again, err := orphanedHolder(ctx, c)
	if err != nil || again == nil {
		return err
	}
	t.keep(holders(*again))
	return left(c, t.stop(ctx, c.stopping()))
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
	t := newTarget()
	defer t.close()
	t.add(birth{owner.PID, owner.StartTicks})
	return left(c, t.stop(ctx, c.stopping()))
}

func (c Config) stopping() stopping { return stopping{signal: c.StopSignal, grace: c.Grace} }

// left says what it means that processes do not end.
func left(c Config, err error) error {
	if errors.Is(err, errDeathless) {
		return fmt.Errorf("%s: processes of an earlier run do not end even after SIGKILL; nothing was started", c.Dir)
	}
	return err
}
