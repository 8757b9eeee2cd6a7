package supervise_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
