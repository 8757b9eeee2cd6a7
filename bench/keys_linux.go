package main

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/solehold/solehold/bench/internal/keyed"
	"github.com/solehold/solehold/bench/internal/report"
	"github.com/solehold/solehold/bench/internal/turn"
)

// manyKeys is how many keys are locked at once to see what is left of them.
const manyKeys = 1_000_000

// keys measures locks by key within this process.
func (b *bench) keys() error {
	const prefix = "keys/"
	ours, names := keyed.Ours(), keyed.Names(1024)
	one := turn.Batch(ours.Name, batch, pairOf(ours.New(), names), nil)
	if b.wants(prefix + "try") {
		all, err := b.plan(true).Run(one)
		if err != nil {
			return err
		}
		b.single(prefix+"try", "TryLock and Unlock, one goroutine", "ns", report.FigureOf(all[0], false))
		b.single(prefix+"rate", "the same", "million/s", report.Figure{Median: 1e3 / all[0].Median()})
	}
	for _, p := range keyed.Others() {
		b.measure(pair{prefix + p.Name, "beside " + p.Name, one, turn.Batch(p.Name, batch, pairOf(p.New(), names), nil), true})
	}
	crowd := turn.Side{Name: ours.Name, Sample: together(ours)}
	for _, p := range keyed.Others() {
		what := fmt.Sprintf("%d goroutines, a key each: %s", goroutines(), p.Name)
		b.measure(pair{prefix + "together/" + p.Name, what, crowd, turn.Side{Name: p.Name, Sample: together(p)}, false})
	}
	for _, p := range append([]keyed.Peer{ours}, keyed.Others()...) {
		if key := prefix + "allocs/" + p.Name; b.wants(key) {
			b.single(key, "allocations: "+p.Name, "a pair", report.Figure{Median: keyed.Allocs(p.New(), names)})
		}
		if key := prefix + "memory/" + p.Name; b.wants(key) {
			b.single(key, "kept of 1,000,000 keys: "+p.Name, "KiB", report.Figure{Median: keyed.Kept(p, manyKeys) / 1024})
		}
	}
	return nil
}

// pairOf locks and unlocks one name after the other.
func pairOf(t keyed.Table, names []string) func() error {
	i := 0
	return func() error {
		name := names[i%len(names)]
		i++
		if !t.TryLock(name) {
			return fmt.Errorf("%s is locked", name)
		}
		t.Unlock(name)
		return nil
	}
}

// goroutines is how many work together: more than there are processors, as in a
// server.
func goroutines() int { return 4 * runtime.GOMAXPROCS(0) }

// together is the time of one pair while goroutines with keys of their own work at
// the same table.
func together(p keyed.Peer) func() (float64, error) {
	const pairs = 20_000
	t, names := p.New(), keyed.Names(goroutines())
	return func() (float64, error) {
		var all sync.WaitGroup
		begin := time.Now()
		for _, name := range names {
			all.Go(func() {
				for range pairs {
					t.TryLock(name)
					t.Unlock(name)
				}
			})
		}
		all.Wait()
		return float64(time.Since(begin)) / float64(pairs*len(names)), nil
	}
}
