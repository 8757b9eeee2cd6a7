package model_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// variant is the protocol with one mistake in it.
type variant struct {
	name  string
	wrong func(p *protocol)
	from  trouble // what it takes to go wrong
	ends  string  // how the last line of the schedule begins
}

// without leaves steps out.
func without(list []string, steps ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(steps, s) })
}

// instead puts other steps in the place of one.
func instead(list []string, step string, others ...string) []string {
	at := slices.Index(list, step)
	return slices.Concat(list[:at], others, list[at+1:])
}

// asking is a start whose questions come in this order.
func asking(steps ...string) func(*protocol) {
	return func(p *protocol) { p.start = append(steps, "read", "write", "history") }
}

func variants() []variant {
	const (
		two   = "two owners"
		token = "token "
		old   = "the owner with token "
	)
	removal := trouble{removals: 1}
	removals := trouble{removals: 2, crashes: 1}
	crash, unlock := trouble{crashes: 2}, trouble{unlocks: 1, crashes: 1}
	return []variant{
		{"no lock at all", asking("verify"), trouble{}, two},
		{"the lock alone", asking("lock"), removal, two},
		{"the lock, and a look at the path", asking("lock", "verify"), removal, two},
		{"no look for other marks", asking("lock", "mark", "verify"), removal, two},
		{"no look at the path", asking("lock", "mark", "look"), removals, token},
		{"no mark of its own", asking("lock", "verify", "look"), removal, two},
		{"the path before the other marks", asking("lock", "mark", "verify", "look"), removals, token},
		{"the other marks before its own", asking("lock", "look", "mark", "verify"), trouble{removals: 1, returns: 1}, two},
		{"its own mark last", asking("lock", "look", "verify", "mark"), removal, two},
		{"its own mark last, after the path", asking("lock", "verify", "look", "mark"), removal, two},
		{"the path before its own mark", asking("lock", "verify", "mark", "look"), removals, token},
		{"takeover by age: an old record counts more than a mark", func(p *protocol) {
			p.start = instead(p.start, "look", "look unless old")
		}, removal, two},
		{"the lock file is removed at release, without a mark", func(p *protocol) {
			asking("lock", "verify")(p)
			p.release = []string{"remove", "unlock"}
		}, trouble{}, two},
		{"the lock file is removed after the release, without a mark", func(p *protocol) {
			asking("lock", "verify")(p)
			p.release = []string{"unlock", "remove"}
		}, trouble{}, two},
		{"owner before the record is written", func(p *protocol) {
			p.start = without(p.start, "write", "history")
		}, crash, token},
		{"one slot, written over, and no look into the history", func(p *protocol) {
			p.start = instead(without(p.start, "history"), "read", "read the slots alone", "tear in place")
		}, crash, token},
		{"no history, and the lock file is removed", func(p *protocol) {
			p.start = without(p.start, "history")
		}, removal, token},
		{"no look into the history after a torn record", func(p *protocol) {
			p.start = instead(p.start, "read", "read the slots alone")
		}, removal, token},
		{"the release is written down after letting go", func(p *protocol) {
			p.release = []string{"unmark", "unlock", "tear", "write"}
		}, crash, token},
		{"locks taken again without a look at the record", func(p *protocol) {
			p.retake = without(p.retake, "compare")
		}, unlock, old},
		{"locks taken again without taking them", func(p *protocol) {
			p.retake = []string{"verify"}
		}, unlock, two},
	}
}

// Each mistake goes wrong, in the way that is expected. So the search can find something, and each step is needed.
func TestProtocolNeedsItsOrder(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			p := right()
			v.wrong(&p)
			bad, worlds := search(p, v.from.world())
			if bad == nil {
				t.Fatalf("nothing goes wrong in %d worlds", worlds)
			}
			t.Logf("%d worlds\n%s", worlds, schedule(bad))
			if got := bad[len(bad)-1]; !strings.HasPrefix(got, v.ends) {
				t.Errorf("it ends with %q, not with %q", got, v.ends)
			}
			// The same trouble does not harm the right protocol: the mistake is the cause.
			if bad, _ := search(right(), v.from.world()); bad != nil {
				t.Errorf("without the mistake:\n%s", schedule(bad))
			}
		})
	}
}

// schedule prints the steps to something wrong.
func schedule(steps []string) string {
	var b strings.Builder
	for i, s := range steps[:len(steps)-1] {
		fmt.Fprintf(&b, "%3d  %s\n", i+1, s)
	}
	fmt.Fprintf(&b, "  => %s\n", steps[len(steps)-1])
	return b.String()
}

const golden = "testdata/schedules.txt"

// The schedules that readers see are those of the search.
func TestSchedules(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("What goes wrong with each mistake, in the fewest steps. Written by: go test ./internal/model -run Schedules -update\n")
	for _, v := range variants() {
		p := right()
		v.wrong(&p)
		bad, _ := search(p, v.from.world())
		if bad == nil {
			t.Fatalf("%s: nothing goes wrong", v.name)
		}
		fmt.Fprintf(&b, "\n%s\n%s", v.name, schedule(bad))
	}
	if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != b.String() {
		t.Errorf("%s is not what the search finds (%v); it finds\n%s", golden, err, b.String())
	}
}

// TestMain has the flag that writes the golden file.
func TestMain(m *testing.M) {
	flag.Bool("update", false, "write "+golden)
	flag.Parse()
	os.Exit(m.Run())
}
