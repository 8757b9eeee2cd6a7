package supervise

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
)

// acquire takes the lock and deals with what earlier runs left. A signal that
// asks to end ends that; then nothing is held.
func (r *runner) acquire(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	heard := r.endOnSignal(cancel)
	err := r.take(ctx)
	if err == nil {
		if err = r.takeCluster(ctx); err != nil {
			err = errors.Join(err, r.lock.Abandon())
		}
	}
	heard()
	if err == nil && ctx.Err() != nil {
		// It came when the lock was already there.
		err = errors.Join(context.Cause(ctx), r.giveBack(r.lock.Release))
	}
	return err
}

// endOnSignal cancels when a signal asks to end. After the returned function the
// signals are the caller's again, and none of them was lost: each that came
// before is seen in the context, each that comes later in the channel.
func (r *runner) endOnSignal(cancel context.CancelCauseFunc) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case s := <-r.signals:
				if endsWait(s) {
					cancel(&SignalError{Signal: signalOf(s)})
					return
				}
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

func (r *runner) take(ctx context.Context) error {
	stopped, err := r.stopHolders(ctx)
	if err != nil {
		return err
	}
	lock, err := solehold.Acquire(ctx, r.c.Dir, &r.c.Options)
	var held *solehold.HeldError
	if errors.As(err, &held) && held.Holder().WrapperGone && r.c.Orphans == OrphansStop {
		// Its wrapper was killed while we waited.
		var more []solehold.Owner
		if more, err = r.stopHolders(ctx); err == nil {
			lock, err = solehold.Acquire(ctx, r.c.Dir, &r.c.Options)
		}
		stopped = append(stopped, more...)
	}
	if err != nil {
		return err
	}
	r.lock = lock
	for _, o := range stopped {
		r.log(solehold.Event{Kind: journal.Forced, PID: o.PID, Detail: "stopped what an earlier run left: " + o.String()})
	}
	if err := r.unguarded(ctx); err != nil {
		return err
	}
	if err := r.onlyHere(); err != nil {
		return errors.Join(err, r.lock.Abandon())
	}
	return nil
}

// unguarded deals with the command of an earlier run that lives on without the
// lock. On an error nothing is held, and the next starter meets it again.
func (r *runner) unguarded(ctx context.Context) error {
	orphan := r.leftOver(ctx)
	if orphan == nil {
		return nil
	}
	if r.c.Orphans != OrphansStop || !orphan.Proven {
		return errors.Join(&OrphanError{Dir: r.lock.Dir(), Owner: *orphan}, r.lock.Abandon())
	}
	r.c.Say("%s: what an earlier run left still works there without the lock: %s; stopping it", r.lock.Dir(), orphan)
	if err := stopOrphan(ctx, r.c, *orphan); err != nil {
		return errors.Join(err, r.lock.Abandon())
	}
	r.log(solehold.Event{Kind: journal.Forced, PID: orphan.PID, Detail: "stopped what an earlier run left: " + orphan.String()})
	return nil
}

// leftOver is what an earlier run has left. A process that is just ending has given
// its locks up and has no memory any more in which it would say what it is: it gets a
// moment to be gone.
func (r *runner) leftOver(ctx context.Context) *solehold.Owner {
	const moment, look = time.Second, 10 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, moment)
	defer cancel()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		orphan := r.lock.Orphan()
		if orphan == nil || orphan.Proven {
			return orphan
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return orphan
		}
	}
}

// giveBack gives both locks back, that of the cluster first.
func (r *runner) giveBack(letGo func() error) error {
	r.agent.release(r.c.Say)
	return letGo()
}

// environment tells the command whose directory it works in.
func environment(l *solehold.Lock) map[string]string {
	return map[string]string{
		solehold.DirVar: l.Dir(), solehold.NameVar: l.Name(), solehold.TokenVar: strconv.FormatUint(l.Token(), 10),
	}
}
