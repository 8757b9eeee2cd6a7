//go:build !solehold_portable

package supervise_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// An idle wrapper costs a little memory and no time. The limits are far from
// what is measured: a busy machine must not break this.
func TestIdleWrapperCostsLittle(t *testing.T) {
	s := newSite(t)
	r := s.sh(nil, "for i in 1 2 3 4 5 6; do echo tick; sleep 2; done; exec sleep 1000")
	switches := 1 << 20
	for i := 1; i < 6 && switches > 5; i++ { // the runtime comes to rest within some seconds
		r.out.await("tick", i)
		before := sum(t, r.pid(), "voluntary_ctxt_switches:")
		r.out.await("tick", i+1)
		switches = min(switches, sum(t, r.pid(), "voluntary_ctxt_switches:")-before)
	}
	// The pages of the program itself are no cost of this one process.
	private := field(t, "/proc/"+itoa(r.pid())+"/smaps_rollup", "Anonymous:")
	t.Logf("%d KiB of its own; %d voluntary context switches in 2 s", private, switches)
	if private > 8<<10 || switches > 5 {
		t.Error("that is too much")
	}
}

// sum adds a figure of all threads.
func sum(t *testing.T, pid int, key string) (n int) {
	t.Helper()
	threads, err := filepath.Glob("/proc/" + itoa(pid) + "/task/*/status")
	must(t, err)
	for _, status := range threads {
		n += field(t, status, key)
	}
	return n
}

// field reads the number in a line of a file in /proc.
func field(t *testing.T, file, key string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	_, after, found := strings.Cut("\n"+string(text), "\n"+key)
	words := strings.Fields(after)
	if !found || len(words) == 0 {
		t.Fatalf("%s has no %s", file, key)
	}
	n, err := strconv.Atoi(words[0])
	must(t, err)
	return n
}

// Nor does one that asks its service every second.
func TestIdleWrapperWithAProbeCostsLittle(t *testing.T) {
	t.Parallel()
	v := newSite(t).serve(nil)
	v.healthy(1)
	const rounds = 3
	v.rounds(2)
	best := 1 << 30
	for range 2 { // the machine's other work makes ours cost more at times
		before := onCPU(t, v.pid())
		v.rounds(rounds)
		best = min(best, (onCPU(t, v.pid())-before)/rounds)
	}
	private := field(t, "/proc/"+itoa(v.pid())+"/smaps_rollup", "Anonymous:")
	t.Logf("%d KiB of its own, %d µs for each question and what goes on around it", private, best/1000)
	if private > 6<<10 {
		t.Error("that is too much memory")
	}
	if best > 10_000_000 { // a thousandth of the 10 s from one question to the next, as they are by default
		t.Error("that is too much time")
	}
	v.signal(syscall.SIGTERM)
	v.wait()
}

// onCPU is the time in ns that all threads have had.
func onCPU(t *testing.T, pid int) (ns int) {
	t.Helper()
	threads, err := filepath.Glob("/proc/" + itoa(pid) + "/task/*/schedstat")
	must(t, err)
	for _, stat := range threads {
		text, err := os.ReadFile(stat)
		must(t, err)
		n, err := strconv.Atoi(strings.Fields(string(text))[0])
		must(t, err)
		ns += n
	}
	return ns
}
