package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold/bench/internal/helper"
	"github.com/solehold/solehold/bench/internal/peers"
	"github.com/solehold/solehold/bench/internal/report"
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
		paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		if err != nil || len(paths) == 0 {
			return nil, fmt.Errorf("process %d has ended", pid)
		}
		for _, p := range paths {
			n, err := field(p, "voluntary_ctxt_switches")
			if err != nil {
				return nil, err
			}
			all[i] += n
		}
	}
	return all, nil
}

// field sums up the lines of a file of /proc that begin with one of the names.
func field(path string, names ...string) (sum int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		key, value, _ := strings.Cut(s.Text(), ":")
		for _, name := range names {
			if key != name {
				continue
			}
			n, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				return 0, fmt.Errorf("%s: %w", path, err)
			}
			sum += n
		}
	}
	return sum, nil
}
