package supervisors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solehold/solehold/bench/internal/helper"
	"github.com/solehold/solehold/bench/internal/mark"
	"github.com/solehold/solehold/bench/internal/report"
	"github.com/solehold/solehold/bench/internal/turn"
	"github.com/solehold/solehold/bench/internal/usage"
	"golang.org/x/sys/unix"
)

// probePeriod is how often a service is asked, and one that polls looks, while the
// supervisors are idle.
const probePeriod = 10 * time.Second

// Restarts kills the service of each kind in turn, after it has lived for lived,
// and returns how many ns later the main of the next one began.
func (r *Rig) Restarts(ctx context.Context, kinds []Kind, rounds int, lived time.Duration) (all []turn.Series, err error) {
	trials, err := r.beginAll(ctx, kinds, time.Second)
	defer func() { err = errors.Join(err, endAll(trials)) }()
	if err != nil {
		return nil, err
	}
	all = make([]turn.Series, len(kinds))
	for range rounds {
		for i, t := range trials {
			all[i].Name = kinds[i].Name
			took, err := t.restart(ctx, lived)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", kinds[i].Name, err)
			}
			all[i].Samples = append(all[i].Samples, took)
		}
	}
	return all, nil
}

// restart kills the service once it is old enough and waits for the next.
func (t *trial) restart(ctx context.Context, lived time.Duration) (float64, error) {
	before := t.told()
	old := before[len(before)-1]
	pause(ctx, lived-time.Duration(helper.Now()-old.at))
	at := helper.Now()
	if err := mark.Signal(old.pid, t.mark+"/"+roleService, unix.SIGKILL); err != nil {
		return 0, err
	}
	if !until(ctx, startTime, func() bool { return len(t.told()) > len(before) }) {
		return 0, errors.Join(ctx.Err(), fmt.Errorf("the service was not started again: %s", t.said()))
	}
	return float64(t.told()[len(before)].at - at), nil
}

// beginAll starts one trial of each kind. The trials that were begun are returned
// with an error too.
func (r *Rig) beginAll(ctx context.Context, kinds []Kind, cycle time.Duration) (trials []*trial, err error) {
	for _, k := range kinds {
		t, err := r.begin(k, cycle)
		if err != nil {
			return trials, err
		}
		trials = append(trials, t)
		if err := t.start(ctx); err != nil {
			return trials, fmt.Errorf("%s: %w", k.Name, err)
		}
	}
	return trials, nil
}

func endAll(trials []*trial) (err error) {
	for _, t := range trials {
		err = errors.Join(err, t.end())
	}
	return err
}

// Idle starts all kinds, lets them settle, and returns what they cost in the time
// after that.
func (r *Rig) Idle(ctx context.Context, kinds []Kind, settle, length time.Duration) (all []report.Idle, err error) {
	trials, err := r.beginAll(ctx, kinds, probePeriod)
	defer func() { err = errors.Join(err, endAll(trials)) }()
	if err != nil {
		return nil, err
	}
	pause(ctx, settle)
	before, begin := make([]used, len(trials)), time.Now()
	for i, t := range trials {
		if before[i], err = t.used(); err != nil {
			return nil, err
		}
	}
	pause(ctx, length)
	seconds := time.Since(begin).Seconds()
	for i, t := range trials {
		u, err := t.used()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kinds[i].Name, err)
		}
		all = append(all, report.Idle{
			Private: float64(u.private), Anonymous: float64(u.anonymous),
			Wakeups: float64(u.wakeups-before[i].wakeups) / seconds,
			CPU:     float64(u.cpu-before[i].cpu) / 1e6 / seconds * 60,
		})
	}
	return all, ctx.Err()
}

type used struct{ private, anonymous, wakeups, cpu int }

// used sums up over the supervisor's processes.
func (t *trial) used() (sum used, err error) {
	pids, err := mark.Find(t.mark + "/" + roleSupervisor)
	if err == nil && len(pids) == 0 {
		err = fmt.Errorf("the supervisor has ended: %s", t.said())
	}
	if err != nil {
		return used{}, err
	}
	for _, pid := range pids {
		for _, part := range []struct {
			into *int
			of   func(int) (int, error)
		}{{&sum.private, usage.Private}, {&sum.anonymous, usage.Anonymous}, {&sum.wakeups, usage.Wakeups}, {&sum.cpu, usage.CPU}} {
			n, err := part.of(pid)
			if err != nil {
				return used{}, err
			}
			*part.into += n
		}
	}
	return sum, nil
}
