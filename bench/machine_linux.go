package main

import (
	"context"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/bench/internal/report"
	"golang.org/x/sys/unix"
)

// machine describes where the benchmark runs; what cannot be read is empty.
func machine(dir string) report.Machine {
	m := report.Machine{CPU: cpu(), CPUs: runtime.NumCPU(), Go: runtime.Version(), Dir: dir, Time: time.Now()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	if s, err := solehold.Inspect(context.Background(), dir, nil); err == nil {
		m.Filesystem = s.Filesystem.Type
	}
	load, _ := os.ReadFile("/proc/loadavg")
	m.Load, _, _ = strings.Cut(string(load), " ")
	return m
}

func cpu() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for _, l := range strings.Split(string(text), "\n") {
		if name, ok := strings.CutPrefix(l, "model name"); ok {
			return strings.TrimLeft(name, "\t :")
		}
	}
	return runtime.GOARCH
}

// targets are what the project wants of itself, as far as this benchmark measures it.
func targets() []report.Target {
	const kib, ms = 1024, 1e6
	return []report.Target{
		{Text: "acquire and release without sync <= 1.5x its system calls bare", Limit: 1.5, Row: "acquire/floor", Ratio: true},
		{Text: "the same on the caller's goroutine (NoTimeout) <= 1.5x", Limit: 1.5, Row: "acquire/direct", Ratio: true},
		{Text: "refused try <= 1.5x its system calls bare", Limit: 1.5, Row: "refused/floor", Ratio: true},
		{Text: "the same on the caller's goroutine (NoTimeout) <= 1.5x", Limit: 1.5, Row: "refused/direct", Ratio: true},
		{Text: "hand-off after a release, p50 <= 1.5x blocking flock(2)", Limit: 1.5, Row: "handoff/release/flock(2)", Ratio: true},
		{Text: "hand-off after SIGKILL, p50 <= 1.5x blocking flock(2)", Limit: 1.5, Row: "handoff/kill/flock(2)", Ratio: true},
		{Text: "an idle waiter wakes up 0 times a second", Limit: 0, Row: "idle/waiter"},
		{Text: "run starts its child in <= 2x `flock -n`", Limit: 2, Row: "cli/run/flock -n", Ratio: true},
		{Text: "run has <= 4 MiB of private memory", Limit: 4 * kib, Row: "cli/memory"},
		{Text: "run without probes wakes up 0 times a second", Limit: 0, Row: "cli/idle"},
		{Text: "doctor on 2,000 processes is 5x faster than lsof", Limit: 0.2, Row: "doctor/lsof", Ratio: true},
		{Text: "doctor there <= 1.5x an lslocks that asks all (2.40)", Limit: 1.5, Row: "doctor/lslocks", Ratio: true},
		{Text: "doctor there <= 1.5x one call for each descriptor", Limit: 1.5, Row: "doctor/floor", Ratio: true},
		{Text: "doctor there has <= 64 MiB", Limit: 64 * kib, Row: "doctor/memory"},
		{Text: "doctor on a quiet host <= 50 ms", Limit: 50 * ms, Row: "doctor/quiet"},
		{Text: "10 million TryLock and Unlock of a key a second: <= 100 ns", Limit: 100, Row: "keys/try"},
		{Text: "they allocate nothing", Limit: 0, Row: "keys/allocs/keylock"},
		{Text: "<= 1 MiB is kept of 1,000,000 keys", Limit: kib, Row: "keys/memory/keylock"},
		{Text: "status <= 5 ms", Limit: 5 * ms, Row: "cli/status"},
	}
}
