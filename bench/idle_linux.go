package main

import (
	"time"

	"github.com/solehold/solehold/bench/internal/helper"
	"github.com/solehold/solehold/bench/internal/peers"
	"github.com/solehold/solehold/bench/internal/report"
	"github.com/solehold/solehold/bench/internal/usage"
)

// idle measures how often processes that only hold or wait are woken.
func (b *bench) idle() error {
	const prefix = "idle/"
	if !b.wantsAny(prefix) {
		return nil
	}
	var names []string
	var pids []int
	for _, p := range []string{peers.Solehold, "flock(2)", "gofrs/flock", "bbolt"} {
		dir, err := b.place(prefix + p)
		if err != nil {
			return err
		}
		holder, err := hold(p, dir)
		if err != nil {
			return err
		}
		defer holder.Close()
		waiter, err := helper.Start(p, dir)
		if err != nil {
			return err
		}
		defer waiter.Close()
		if err := waiter.Tell("wait"); err != nil {
			return err
		}
		names, pids = append(names, p), append(pids, waiter.PID(), holder.PID())
	}
	rates, err := b.wakeups(pids)
	if err != nil {
		return err
	}
	b.single(prefix+"holder", "solehold, holding", "/s", report.Figure{Median: rates[1]})
	for i, name := range names {
		key := prefix + name
		if i == 0 {
			key = prefix + "waiter"
		}
		b.single(key, name+", waiting", "/s", report.Figure{Median: rates[2*i]})
	}
	return nil
}

// wakeups returns the voluntary context switches of processes a second, after
// they had time to settle.
func (b *bench) wakeups(pids []int) ([]float64, error) {
	length := 3 * time.Second
	if b.quick {
		length = time.Second
	}
	time.Sleep(3 * time.Second) // a run gives back what only its start needed after one
	before, err := switches(pids)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	time.Sleep(length)
	after, err := switches(pids)
	if err != nil {
		return nil, err
	}
	rates := make([]float64, len(pids))
	for i := range pids {
		rates[i] = float64(after[i]-before[i]) / time.Since(start).Seconds()
	}
	return rates, nil
}

func switches(pids []int) ([]int, error) {
	all := make([]int, len(pids))
	for i, pid := range pids {
		n, err := usage.Wakeups(pid)
		if err != nil {
			return nil, err
		}
		all[i] = n
	}
	return all, nil
}
