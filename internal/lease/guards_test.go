package lease_test

import (
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/lease"
)

// planted is one fault: a guard taken out, and what must notice.
type planted struct {
	guard  string
	script string // its golden text changes
	search string // it finds what may not happen, or ""
	why    string // part of what it finds
}

// faults gives every planted fault. The comments name clients that have it, or had it.
func faults() []planted {
	return []planted{
		{"monotone", "claim", "", ""},
		{"fromSend", "partition", "late", "not told in time"},           // etcd's Session, client-go
		{"ownAnswer", "partition", "late", "not told in time"},          // answers are not told apart
		{"localDeadline", "partition", "partition", "not told in time"}, // Consul's api.Lock, etcd before 3.0
		{"final", "partition", "late", "never ends"},                    // redsync's SetNXOnExtend
		{"killInTime", "partition", "partition", "not killed in time"},  // etcdctl lock
		{"stopInTime", "partition", "late", "not stopped in time"},
		{"inTime", "unknown", "delayed", "never ends"}, // etcd's Mutex until 2020
		{"awaited", "unknown", "claim", "an owner that nobody wants"},
		{"rising", "claim", "data", "token 1 after 1"}, // stores without durable writes
		{"delay", "claim", "unclean", "before the lock-delay is over"},
		{"longerDelay", "claim", "unclean", "before the lock-delay is over"},        // a contender counts with its own length
		{"stoppedFirst", "partition", "break", "given back while the work goes on"}, // client-go's ReleaseOnCancel
		{"leftLast", "claim", "leave", "the lease is given back while the work goes on"},
		{"resolve", "unknown", "claim", "nobody wants the lock"},       // go-zookeeper: created, and the answer lost
		{"withdraw", "unknown", "claim", "nobody wants the lock"},      // stolon's abandoned campaign
		{"withdrawAgain", "unknown", "claim", "nobody wants the lock"}, // etcd's Mutex after ErrCompacted
		{"lateAsk", "unknown", "ghost", "nobody wants the lock"},
		{"honestRelease", "unknown", "break", "it releases its predecessor"},
		{"leaseGone", "gone", "break", "not told at once"}, // Vault: a dead session used again
		{"claimGone", "gone", "break", "not told at once"},
		{"verify", "gone", "unseen", "works for ever"}, // etcd: renewed, and the keys gone
		{"doubtFreezes", "doubt", "pause", "works in doubt"},
		{"doubtFresh", "doubt", "pause", "thawed in doubt"},
		{"overIsOver", "partition", "", ""}, // a lease object that is lost is never used again
		{"rewake", "claim", "unclean", "no timer"},
	}
}

// TestPlanted takes out each guard in turn and must see a script and the search fail.
func TestPlanted(t *testing.T) {
	all, starts := scripts(t), searches()
	for _, f := range faults() {
		t.Run(f.guard, func(t *testing.T) {
			t.Parallel()
			g := named(t, f.guard)
			if got, err := runScript(all[f.script], g); err == nil && got == all[f.script] {
				t.Errorf("the script %s does not notice", f.script)
			}
			if f.search == "" {
				return
			}
			if err := starts[f.search].search(g, 20_000).found; err == nil || !strings.Contains(err.Error(), f.why) {
				t.Errorf("the search %s finds %v, want %q", f.search, err, f.why)
			}
		})
	}
}

// TestEachGuardIsPlanted finds a guard without a planted fault.
func TestEachGuardIsPlanted(t *testing.T) {
	have := map[string]bool{}
	for _, f := range faults() {
		have[f.guard] = true
	}
	for _, g := range lease.Guards() {
		if !have[g.String()] {
			t.Errorf("no fault is planted for %v", g)
		}
	}
	if len(have) != len(lease.Guards()) {
		t.Errorf("%d faults for %d guards", len(have), len(lease.Guards()))
	}
}

// named gives the guard of a name.
func named(t *testing.T, name string) lease.Guard {
	t.Helper()
	for _, g := range lease.Guards() {
		if g.String() == name {
			return g
		}
	}
	t.Fatalf("no guard is called %s", name)
	return 0
}
