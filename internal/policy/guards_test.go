package policy_test

import (
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/policy"
)

// planted is one fault: a guard taken out, and what must notice.
type planted struct {
	guard  string
	script string // its golden text changes, or ""
	search string // it finds a command that may never be given, or ""
	why    string // part of what it finds
}

// faults gives every planted fault.
func faults() []planted {
	return []planted{
		{"finality", "crashloop", "run bare", "a command after the end"},
		{"monotone", "ready", "run bare", "when the timer is set to"},
		{"ownAnswer", "gap", "run", "two rounds at once"},
		{"ownEvidence", "recovers", "run sick", "a round while evidence is taken"},
		{"ownExit", "stop", "run bare", "a second start without an end between"},
		{"inTime", "unknown", "run", "only 1 rounds have failed"},
		{"wholeTree", "hang", "run bare", "a second start without an end between"},
		{"stopWins", "stop", "run bare", "a start after a stop was requested"},
		{"threshold", "hang", "run", "only 1 rounds have failed"},
		{"minFailing", "hang", "run sick", "it has failed for 1s only"},
		{"unknownNeutral", "unknown", "run", "no round has ever failed"},
		{"unknownBreaks", "unknown", "run sick", "it has failed for"},
		{"gapVoids", "gap", "run sick", "it has failed for"},
		{"gapRounds", "gap", "run", "more rounds must fail after the clock gap"},
		{"lateRound", "overdue", "run", "only 1 rounds have failed"},
		{"startupFirst", "startup", "run startup", "a health probe before the startup probe was good"},
		{"pause", "hang", "run sick", "a round while evidence is taken"},
		{"evidenceFirst", "recovers", "run sick", "a kill without evidence"},
		{"oneEvidence", "report", "run report", "a second evidence in one episode"},
		{"lookAgain", "recovers", "run sick", "a kill without a last look"},
		{"reportOnly", "report", "run report", "a report kills"},
		{"lockFree", "watch", "watch", "a start when the lock was last seen unknown"},
		{"freshLock", "watch", "watch", "a start on an old look at the lock"},
		{"newHolder", "watchheld", "watch down", "a start of what has not failed for long"},
		{"limit", "crashloop", "run bare", "a start above the limit"},
		{"remembers", "watchgivenup", "watch", "a start after a give-up"},
		{"serveBackoff", "policy", "watch down", "a start within the backoff"},
		{"backoffCap", "crashloop", "", ""},
		{"takenIsWell", "watchtaken", "", ""},
		{"rewake", "ready", "run", "no timer and no answer is owed"},
	}
}

// TestPlanted takes out each guard in turn and must see a script and the search fail.
func TestPlanted(t *testing.T) {
	all, starts := scripts(t), searches()
	for _, f := range faults() {
		t.Run(f.guard, func(t *testing.T) {
			g := named(t, f.guard)
			if got, err := runScript(all[f.script], g); err == nil && got == all[f.script] {
				t.Errorf("the script %s does not notice", f.script)
			}
			if f.search == "" {
				return
			}
			w, err := starts[f.search].world(g)
			if err == nil {
				err = search(w, 20_000, settles).found
			}
			if err == nil || !strings.Contains(err.Error(), f.why) {
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
	for _, g := range policy.Guards() {
		if !have[g.String()] {
			t.Errorf("no fault is planted for %v", g)
		}
	}
	if len(have) != len(policy.Guards()) {
		t.Errorf("%d faults for %d guards", len(have), len(policy.Guards()))
	}
}

// named gives the guard of a name.
func named(t *testing.T, name string) policy.Guard {
	t.Helper()
	for _, g := range policy.Guards() {
		if g.String() == name {
			return g
		}
	}
	t.Fatalf("no guard is called %s", name)
	return 0
}
