package partition

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/solehold/solehold/bench/internal/helper"
	"github.com/solehold/solehold/bench/internal/report"
	"github.com/solehold/solehold/cluster/clustertest"
	"github.com/solehold/solehold/internal/servers"
)

// outcome is what happened to one holder, in ns of helper.Now; 0 is never.
type outcome struct {
	told, dead int64 // the holder, and what it ran
	given      int64 // when the next one was granted the lock
	owned      int64 // when it might work: ours waits out the lock-delay before
}

// side is one kind of client of an engine.
type side struct {
	name, version string
	runs          bool // it runs a command, whose death is measured
	trial         func(context.Context, trial) (outcome, error)
}

// trial is one lock, at a server that the holder reaches through a wire.
type trial struct {
	wire   *clustertest.Proxy
	server string
	lock   string
	dir    string
	// prepared is called when what is needed runs.
	prepared func()
	ttl      time.Duration
}

// cut lets a while pass, so that the next owner waits and renewals are at any
// point, and then nothing over the wire.
func (t trial) cut() {
	t.prepared()
	time.Sleep(t.ttl/6 + rand.N(t.ttl/3))
	t.wire.Cut()
}

// patience is how long after the cut anything can happen.
func (t trial) patience() time.Duration { return 5*t.ttl + time.Minute }

// table measures the sides of an engine, all trials at once.
func (r Rig) table(ctx context.Context, engine string, server *servers.Server, sides []side) []report.Partition {
	all := make([]report.Partition, len(sides))
	r.setup = make(chan struct{}, 2)
	var done sync.WaitGroup
	for i, s := range sides {
		done.Go(func() {
			outcomes, err := r.trials(ctx, engine, server, s)
			if err != nil && len(outcomes) > 0 {
				r.Note("%s, %s: %d of %d did not run: %v", engine, s.name, r.Runs-len(outcomes), r.Runs, err)
			}
			all[i] = sum(engine, s, outcomes, err)
		})
	}
	done.Wait()
	return all
}

// trials does the trials of a side. An error ends none of the others.
func (r Rig) trials(ctx context.Context, engine string, server *servers.Server, s side) ([]outcome, error) {
	var mu sync.Mutex
	var outcomes []outcome
	var last error
	var all sync.WaitGroup
	for i := range r.Runs {
		all.Go(func() {
			o, err := r.try(ctx, server, s, fmt.Sprintf("%s-%d", engine, i))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				last = err
				return
			}
			outcomes = append(outcomes, o)
		})
	}
	all.Wait()
	return outcomes, last
}

// try does one trial.
func (r Rig) try(ctx context.Context, server *servers.Server, s side, lock string) (outcome, error) {
	wire, err := clustertest.ListenProxy(server.Addr)
	if err != nil {
		return outcome{}, err
	}
	defer wire.Close()
	select {
	case r.setup <- struct{}{}:
	case <-ctx.Done():
		return outcome{}, context.Cause(ctx)
	}
	t := trial{wire, server.Addr, lock, r.Dir, sync.OnceFunc(func() { <-r.setup }), r.TTL}
	defer t.prepared()
	ctx, cancel := context.WithTimeout(ctx, t.patience())
	defer cancel()
	return s.trial(ctx, t)
}

// sum makes margins of outcomes: seconds before the next owner.
func sum(engine string, s side, outcomes []outcome, err error) report.Partition {
	p := report.Partition{Engine: engine, Name: s.name, Version: s.version, Runs: len(outcomes)}
	if err != nil && len(outcomes) == 0 {
		p.Error = err.Error()
		return p
	}
	var told, dead, owned []float64
	for _, o := range outcomes {
		told = append(told, seconds(o.given-o.told))
		last := o.told
		if s.runs {
			dead = append(dead, seconds(o.given-o.dead))
			owned = append(owned, seconds(o.owned-o.dead))
			last = max(o.told, o.dead)
		}
		if o.given <= last {
			p.Overlaps++
		}
	}
	p.Told, p.Dead, p.Owned = report.SpreadOf(told), report.SpreadOf(dead), report.SpreadOf(owned)
	return p
}

func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }

// first is the time at which something was first seen.
func first(c <-chan struct{}) <-chan int64 {
	at := make(chan int64, 1)
	go func() {
		<-c
		at <- helper.Now()
	}()
	return at
}

// await gives what comes out of a channel, or says what did not.
func await[T any](ctx context.Context, what string, c <-chan T) (v T, err error) {
	select {
	case v = <-c:
		return v, nil
	case <-ctx.Done():
		return v, fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
}
