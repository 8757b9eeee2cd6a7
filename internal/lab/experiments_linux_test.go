package lab_test

import (
	"context"
	"slices"
	"testing"

	"github.com/solehold/solehold/internal/lab"
	"github.com/solehold/solehold/internal/testneed"
)

// tell shows what a run has measured.
func tell(t *testing.T, r lab.Result) {
	t.Helper()
	t.Logf("%s in %.1fs %s%s", r.Outcome, r.Seconds, r.Missing, r.Error)
	for _, m := range r.Measured {
		t.Logf("%s: %q, described %q", m.What, m.Got, m.Want)
	}
}

// Every experiment comes out as its text says, on this machine, in this run.
func TestExperiments(t *testing.T) {
	t.Parallel()
	for _, e := range lab.All() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			r := e.Run(context.Background())
			testneed.Feature(t, r.Outcome != lab.NotRun, "what this experiment needs", r.Missing)
			tell(t, r)
			if r.Outcome != lab.AsDescribed {
				t.Errorf("%s: %s", e.Name, r.Outcome)
			}
		})
	}
}

// Without the act that makes the difference every experiment comes out otherwise, by what it measures. So each can fail,
// and shows the effect of its own cause.
func TestExperimentsNeedTheirCause(t *testing.T) {
	t.Parallel()
	for _, e := range lab.All() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			r := e.WithoutCause(context.Background())
			testneed.Feature(t, r.Outcome != lab.NotRun, "what this experiment needs", r.Missing)
			tell(t, r)
			differs := func(m lab.Measured) bool { return m.Got != "" && !m.Holds() }
			if r.Outcome != lab.Otherwise || !slices.ContainsFunc(r.Measured, differs) {
				t.Errorf("%s without its cause: %s", e.Name, r.Outcome)
			}
		})
	}
}
