package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/solehold/solehold"
	"github.com/solehold/solehold/metrics"
)

// dataDir makes a data directory, and gives its path as the library tells it.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

func TestLife(t *testing.T) {
	t.Parallel()
	dir, c := dataDir(t), metrics.NewCollector(metrics.Options{})
	if got := scrape(t, c, dir); got["solehold_directories"] != 0 || len(got) != 2 {
		t.Errorf("before anything happened: %v", got)
	}
	before := time.Now()
	lock, err := c.Acquire(t.Context(), dir, nil)
	must(t, err)
	got := scrape(t, c, dir)
	since := got["solehold_held_since_timestamp_seconds"]
	if since < float64(before.Unix())-1 || since > float64(time.Now().Unix())+1 {
		t.Errorf("since %f", since)
	}
	delete(got, "solehold_held_since_timestamp_seconds")
	want := map[string]float64{
		"solehold_held": 1, "solehold_token": float64(lock.Token()), "solehold_waiters": 0, "solehold_acquisitions_total": 1,
		"solehold_refusals_total": 0, "solehold_takeovers_total": 0, "solehold_losses_total": 0,
		"solehold_acquire_duration_seconds": 1, "solehold_handoff_duration_seconds": 0,
		"solehold_directories": 1, "solehold_directories_left_out": 0,
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	must(t, lock.Release())
	until(t, c, dir, "solehold_held", 0)
	if _, ok := scrape(t, c, dir)["solehold_held_since_timestamp_seconds"]; ok {
		t.Error("it is free, and has an owner since some time")
	}
	lock, err = c.Acquire(t.Context(), dir, nil)
	must(t, err)
	again, err := c.Acquire(lock.Context(), dir, nil) // the same lock once more
	must(t, err)
	if again != lock {
		t.Error("it is another lock")
	}
	must(t, again.Release())
	got = scrape(t, c, dir)
	if got["solehold_held"] != 1 || got["solehold_acquisitions_total"] != 2 || got["solehold_acquire_duration_seconds"] != 2 || got["solehold_token"] != 2 {
		t.Errorf("after the second acquisition: %v", got)
	}
	must(t, lock.Release())
}

// A refusal is counted each time, though the history leaves some out, and this
// program's own second acquisition is none.
func TestRefused(t *testing.T) {
	t.Parallel()
	dir, c := dataDir(t), metrics.NewCollector(metrics.Options{})
	o := otherOwner(t, dir)
	for range 20 {
		if _, err := c.Acquire(t.Context(), dir, nil); !errors.Is(err, solehold.ErrHeld) {
			t.Fatal(err)
		}
	}
	got := scrape(t, c, dir)
	if got["solehold_refusals_total"] != 20 || got["solehold_held"] != 0 || got["solehold_acquire_duration_seconds"] != 0 {
		t.Errorf("%v", got)
	}
	o.kill()
	lock, err := c.Acquire(t.Context(), dir, nil)
	must(t, err)
	defer lock.Release()
	if _, err := c.Acquire(t.Context(), dir, nil); !errors.Is(err, solehold.ErrHeld) {
		t.Error(err)
	}
	got = scrape(t, c, dir)
	if got["solehold_refusals_total"] != 20 || got["solehold_takeovers_total"] != 1 || got["solehold_held"] != 1 {
		t.Errorf("after its crash: %v", got)
	}
	if _, err := c.Acquire(t.Context(), filepath.Join(dir, "missing"), nil); err == nil {
		t.Error("a missing directory was taken")
	}
	if n := scrape(t, c, dir)["solehold_directories"]; n != 1 {
		t.Errorf("%v directories", n)
	}
}

// Who waits is seen to wait, and the hand-off is from the release to the
// acquisition, not the wait.
func TestHandOff(t *testing.T) {
	t.Parallel()
	dir, c := dataDir(t), metrics.NewCollector(metrics.Options{Buckets: []float64{30}})
	o := otherOwner(t, dir)
	var waits int
	type result struct {
		lock *solehold.Lock
		err  error
	}
	done := make(chan result)
	go func() {
		l, err := c.Acquire(t.Context(), dir, &solehold.Options{Wait: patience, OnWait: func(*solehold.HeldError) { waits++ }})
		done <- result{l, err}
	}()
	until(t, c, dir, "solehold_waiters", 1)
	o.release()
	r := <-done
	must(t, r.err)
	defer r.lock.Release()
	until(t, c, dir, "solehold_handoff_duration_seconds", 1)
	got := scrape(t, c, dir)
	if got["solehold_waiters"] != 0 || got["solehold_held"] != 1 || got["solehold_refusals_total"] != 0 || got["solehold_takeovers_total"] != 0 || waits == 0 {
		t.Errorf("%v, told of %d waits", got, waits)
	}
}

// A wait that is given up is a refusal when it was the caller's patience, and
// nobody waits any more.
func TestWaitedInVain(t *testing.T) {
	t.Parallel()
	dir, c := dataDir(t), metrics.NewCollector(metrics.Options{})
	otherOwner(t, dir)
	if _, err := c.Acquire(t.Context(), dir, &solehold.Options{Wait: time.Millisecond}); !errors.Is(err, solehold.ErrHeld) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := c.Acquire(ctx, dir, &solehold.Options{Wait: patience, OnWait: func(*solehold.HeldError) { cancel() }}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := scrape(t, c, dir); got["solehold_waiters"] != 0 || got["solehold_refusals_total"] != 1 || got["solehold_handoff_duration_seconds"] != 0 {
		t.Errorf("%v", got)
	}
}

// Who takes the directory without the Collector's Acquire gives it the options.
func TestOptions(t *testing.T) {
	t.Parallel()
	dir, c := dataDir(t), metrics.NewCollector(metrics.Options{})
	var heard []string
	mine := &solehold.Options{Name: "kb", OnEvent: func(dir string, e solehold.Event) { heard = append(heard, dir+" "+string(e.Kind)) }}
	o := c.Options(mine)
	lock, err := solehold.Acquire(t.Context(), dir, o)
	must(t, err)
	if got := scrape(t, c, dir); got["solehold_held"] != 1 || lock.Name() != "kb" {
		t.Errorf("%v, name %s", got, lock.Name())
	}
	must(t, lock.Release())
	if got := scrape(t, c, dir); got["solehold_held"] != 0 {
		t.Errorf("%v", got)
	}
	if len(heard) != 2 || heard[1] != dir+" released" {
		t.Errorf("%q", heard)
	}
	o.OnEvent(dir, solehold.Event{Kind: "lost"})
	o.OnEvent(dir, solehold.Event{Kind: "refused", More: 7})
	o.OnEvent(dir, solehold.Event{Kind: "of a later version"})
	if got := scrape(t, c, dir); got["solehold_losses_total"] != 1 || got["solehold_refusals_total"] != 0 {
		t.Errorf("%v", got)
	}
	if c.Options(nil).OnEvent == nil || mine.Name != "kb" || len(heard) != 5 {
		t.Error("the caller's options were changed, or not called")
	}
}

// A Collector is one of many in the caller's registry.
func TestOwnRegistry(t *testing.T) {
	t.Parallel()
	r := prometheus.NewPedanticRegistry()
	must(t, r.Register(collectors.NewGoCollector()))
	a := metrics.NewCollector(metrics.Options{Labels: prometheus.Labels{"part": "a"}})
	b := metrics.NewCollector(metrics.Options{Labels: prometheus.Labels{"part": "b"}})
	must(t, r.Register(a))
	must(t, r.Register(b))
	if err := r.Register(metrics.NewCollector(metrics.Options{Labels: prometheus.Labels{"part": "b"}})); err == nil {
		t.Error("two that tell the same were registered")
	}
	dir := dataDir(t)
	lock, err := a.Acquire(t.Context(), dir, nil)
	must(t, err)
	defer lock.Release()
	families, err := r.Gather()
	must(t, err)
	for _, f := range families {
		if f.GetName() == "solehold_held" && len(f.Metric) != 1 {
			t.Errorf("%v", f)
		}
	}
	if len(families) < 20 {
		t.Errorf("%d families", len(families))
	}
}

// What is told is bounded. A directory that is held is not forgotten for another.
func TestForgets(t *testing.T) {
	t.Parallel()
	c := metrics.NewCollector(metrics.Options{Most: 3})
	kept := dataDir(t)
	lock, err := c.Acquire(t.Context(), kept, nil)
	must(t, err)
	defer lock.Release()
	for range 10 {
		l, err := c.Acquire(t.Context(), dataDir(t), nil)
		must(t, err)
		must(t, l.Release())
		until(t, c, l.Dir(), "solehold_directories_left_out", 0)
	}
	if got := scrape(t, c, kept); got["solehold_directories"] > 4 || got["solehold_held"] != 1 {
		t.Errorf("%v", got)
	}
	var more []*solehold.Lock
	for range 5 {
		l, err := c.Acquire(t.Context(), dataDir(t), nil)
		must(t, err)
		more = append(more, l)
	}
	if got := scrape(t, c, kept); got["solehold_directories"] != 6 || got["solehold_directories_left_out"] != 3 {
		t.Errorf("%v", got)
	}
	for _, l := range more {
		must(t, l.Release())
	}
}

// Many goroutines take and release while others scrape.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	c := metrics.NewCollector(metrics.Options{})
	const most, rounds = 4, 25
	dirs := make([]string, most)
	for i := range dirs {
		dirs[i] = dataDir(t)
	}
	var wait sync.WaitGroup
	for _, dir := range dirs {
		wait.Go(func() {
			for range rounds {
				l, err := c.Acquire(t.Context(), dir, &solehold.Options{NoSync: true})
				if err != nil {
					t.Error(err)
					return
				}
				l.Release()
			}
		})
		wait.Go(func() {
			for range rounds {
				c.Collect(drain(t))
			}
		})
	}
	wait.Wait()
	for _, dir := range dirs {
		until(t, c, dir, "solehold_held", 0)
		if got := scrape(t, c, dir); got["solehold_acquisitions_total"] != rounds || got["solehold_acquire_duration_seconds"] != rounds {
			t.Errorf("%v", got)
		}
	}
}

// drain takes what is sent to it.
func drain(t *testing.T) chan<- prometheus.Metric {
	ch := make(chan prometheus.Metric, 1024)
	t.Cleanup(func() { close(ch) })
	return ch
}

func ExampleCollector() {
	c := metrics.NewCollector(metrics.Options{})
	registry := prometheus.NewRegistry() // or prometheus.DefaultRegisterer
	registry.MustRegister(c)

	lock, err := c.Acquire(context.Background(), "/srv/kb/data", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release()
}
