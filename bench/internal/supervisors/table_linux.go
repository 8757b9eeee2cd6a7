package supervisors

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/solehold/solehold/bench/internal/mark"
	"github.com/solehold/solehold/bench/internal/report"
)

// Rig is what trials are made with.
type Rig struct {
	dir, service, mark string
	trials             atomic.Int64
	times              Times
}

// Times are how long things are waited for.
type Times struct {
	// Orphan is the time between the death of a supervisor and the look whether
	// its service lives. Settle is that from a launch, once each supervisor has
	// started its service or ended, until services are counted.
	Orphan, Settle time.Duration
	// Stop is when a stop counts as never ending.
	Stop time.Duration
	// Doubles is how often a double start is tried.
	Doubles int
}

// NewRig builds the service in dir, which has to be empty and is not removed.
func NewRig(dir string, times Times) (*Rig, error) {
	service, err := Build(dir)
	return &Rig{dir: dir, service: service, mark: fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano()), times: times}, err
}

// Left returns the processes of all trials that live; none does between trials.
func (r *Rig) Left() ([]int, error) { return mark.Below(r.mark) }

// Try does all that the table shows to one kind. What could not be tried is in
// the answer's Error.
func (r *Rig) Try(ctx context.Context, k Kind) report.Supervisor {
	s := report.Supervisor{Name: k.Name, Version: k.Version()}
	for _, part := range []func(context.Context, Kind, *report.Supervisor) error{
		r.killed, r.killedDeaf, r.doubled, r.stopped, r.frozen,
	} {
		if err := part(ctx, k, &s); err != nil {
			s.Error = err.Error()
			break
		}
	}
	return s
}

// with runs one trial and ends what is left of it.
func (r *Rig) with(k Kind, do func(*trial) error, words ...string) error {
	t, err := r.begin(k, time.Second, words...)
	if err != nil {
		return err
	}
	return errors.Join(do(t), t.end())
}

// kill kills the supervisor, looks whether the service lives, and starts the
// supervisor again.
func (r *Rig) kill(ctx context.Context, t *trial) (lives bool, after int, err error) {
	if err := t.start(ctx); err != nil {
		return false, 0, err
	}
	if err := t.last().cmd.Process.Kill(); err != nil {
		return false, 0, err
	}
	<-t.last().ended
	pause(ctx, r.times.Orphan)
	lives = t.copies(roleService) > 0
	after, err = r.relaunch(ctx, t, 1)
	return lives, after, err
}

// relaunch starts n supervisors and counts the services once all has settled.
func (r *Rig) relaunch(ctx context.Context, t *trial, n int) (int, error) {
	before := len(t.told())
	if err := t.launch(n); err != nil {
		return 0, err
	}
	until(ctx, startTime, func() bool {
		done := len(t.told()) - before
		for _, s := range t.all[len(t.all)-n:] {
			if s.hasEnded() {
				done++
			}
		}
		return done >= n
	})
	pause(ctx, r.times.Settle)
	return t.copies(roleService), ctx.Err()
}

func (r *Rig) killed(ctx context.Context, k Kind, s *report.Supervisor) error {
	return r.with(k, func(t *trial) (err error) {
		s.Lives, s.Relaunched, err = r.kill(ctx, t)
		return err
	})
}

// killedDeaf is the same with a service that does not listen to TERM.
func (r *Rig) killedDeaf(ctx context.Context, k Kind, s *report.Supervisor) error {
	return r.with(k, func(t *trial) (err error) {
		s.DeafLives, s.DeafRelaunched, err = r.kill(ctx, t)
		return err
	}, wordDeaf)
}

// doubled starts two at once.
func (r *Rig) doubled(ctx context.Context, k Kind, s *report.Supervisor) error {
	for range r.times.Doubles {
		err := r.with(k, func(t *trial) error {
			live, err := r.relaunch(ctx, t, 2)
			s.Doubles = append(s.Doubles, live)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// stopped stops a service that has a tree.
func (r *Rig) stopped(ctx context.Context, k Kind, s *report.Supervisor) error {
	return r.with(k, func(t *trial) error {
		if err := t.start(ctx, roleEscapee, roleIgnorer); err != nil {
			return err
		}
		took, ended, err := t.stop(ctx, r.times.Stop)
		if err != nil {
			return err
		}
		pause(ctx, r.times.Orphan/3)
		s.Stop = report.StopOf(took, ended)
		s.Left = report.Left{Service: t.copies(roleService), Ignorer: t.copies(roleIgnorer), Escapee: t.copies(roleEscapee)}
		return nil
	}, wordTree)
}

// frozen stops a service that is stopped by SIGSTOP.
func (r *Rig) frozen(ctx context.Context, k Kind, s *report.Supervisor) error {
	return r.with(k, func(t *trial) error {
		if err := t.start(ctx); err != nil {
			return err
		}
		if err := t.freeze(ctx); err != nil {
			return err
		}
		took, ended, err := t.stop(ctx, r.times.Stop)
		s.Frozen = report.StopOf(took, ended)
		return err
	})
}
