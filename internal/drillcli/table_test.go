package drillcli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/drill"
	"github.com/solehold/solehold/internal/drillcli"
)

// rounds makes rounds with so many owners each.
func rounds(owners ...int) (all []drill.Round) {
	for i, n := range owners {
		all = append(all, drill.Round{Number: i + 1, Owners: n})
	}
	return all
}

func TestTable(t *testing.T) {
	for name, c := range map[string]struct {
		report drill.Report
		want   string
	}{
		"pass": {
			drill.Report{
				Scenario: "race", Command: []string{"kb", "--addr", ":8080"}, Starters: 32, Seed: 7, Verdict: drill.Pass, Owners: 1,
				By: []string{"listens", "open for writing"}, Rounds: rounds(1, 1, 1),
				Refused: drill.Refusals{Count: 93, Ends: map[string]int{"exit 0": 93}, Slowest: .0412},
				Next:    drill.Times{Count: 2, Median: .0004, Slowest: .0012}, Healthy: drill.Times{Count: 3, Median: 1.2, Slowest: 1.94},
				Cut:   drill.Times{Count: 1, Median: 7.7, Slowest: 7.7},
				Again: "solehold drill race --seed 7 -n 32 --rounds 3 -- kb --addr :8080",
			},
			`race  32 starts x 3 rounds on: kb --addr :8080
  at once     1 owner at most, in 3 of 3 rounds
  refused     93, slowest 41ms: all exit 0
  next owner  400µs after death, or its start if later (median of 2), slowest 1.2ms
  after cut   7.7s after the cut of the owner's link
  healthy     1.2s after the start (median of 3), slowest 1.9s
  left over   none
  known by    listens, open for writing
PASS   seed 7; again: solehold drill race --seed 7 -n 32 --rounds 3 -- kb --addr :8080
`,
		},
		"fail": {
			drill.Report{
				Scenario: "orphan", Command: []string{"svc"}, Starters: 3, Seed: 9, Verdict: drill.Failed, Owners: 2, Rounds: rounds(1, 2),
				By: []string{"lives"}, Refused: drill.Refusals{Count: 3, Ends: map[string]int{"exit 1": 1, "signal 9": 2}, Slowest: 2},
				Left: []string{"pid 7 (sleep 60) of start 1"}, Notes: []string{"a note"}, Gaps: []string{"a gap"}, Kept: true, Dir: "/tmp/x/data",
				Reasons: []string{"round 2: 2 owners at once"}, Again: "solehold drill orphan -- svc",
			},
			`orphan  3 starts x 2 rounds on: svc
  at once     2 OWNERS; one at most in 1 of 2 rounds
  refused     3, slowest 2s: 1 exit 1, 2 signal 9
  next owner  not timed: that a start owns the data is only known by its living on
  left over   pid 7 (sleep 60) of start 1
  known by    lives
  note        a note
  not seen    a gap
  kept        /tmp/x/data
  because     round 2: 2 owners at once
FAIL   seed 9; again: solehold drill orphan -- svc
`,
		},
		"one round without anything": {
			drill.Report{Scenario: "race", Command: []string{"true"}, Starters: 2, Seed: 1, Verdict: drill.Failed, Rounds: rounds(0), Reasons: []string{"round 1: no owner"}, Again: "x"},
			`race  2 starts x 1 round on: true
  at once     0 owners at most, in 1 of 1 round
  refused     none
  next owner  none came
  left over   none
  known by    none
  because     round 1: no owner
FAIL   seed 1; again: x
`,
		},
		"not run": {
			drill.Report{Scenario: "clock", Command: []string{"true"}, Verdict: drill.NotRun, Reasons: []string{"cannot run here"}},
			"clock  0 starts x 0 rounds on: true\n  because     cannot run here\nNOT RUN\n",
		},
		"one time": {
			drill.Report{Scenario: "crash", Command: []string{"x"}, Verdict: drill.Pass, Owners: 1, Rounds: rounds(1), Next: drill.Times{Count: 1, Median: .25, Slowest: .25}, Again: "x"},
			"  next owner  250ms after death, or its start if later\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := drillcli.Table(c.report)
			if got != c.want && (name != "one time" || !strings.Contains(got, c.want)) {
				t.Errorf("got:\n%swant:\n%s", got, c.want)
			}
		})
	}
}

// TestTableIsPrintable has texts of a command that would play with the terminal.
func TestTableIsPrintable(t *testing.T) {
	r := drill.Report{
		Scenario: "race", Command: []string{"a\x1b[2Jb", "c\nd"}, Verdict: drill.Failed, Rounds: rounds(1),
		Reasons: []string{"said \x1b]0;x\x07"}, Left: []string{"pid 7 (\r\x1b[31m)"}, Notes: []string{"\x9b1m"}, Again: "x \x1b[2J",
	}
	if got := drillcli.Table(r); strings.ContainsAny(got, "\x1b\x07\r\u009b") || strings.Count(got, "\n") != 9 {
		t.Errorf("%q", got)
	}
}

// TestTableStaysShort has more reasons than fit on a screen.
func TestTableStaysShort(t *testing.T) {
	r := drill.Report{Scenario: "race", Command: []string{"x"}, Verdict: drill.Failed, Rounds: rounds(2)}
	for range 50 {
		r.Reasons = append(r.Reasons, "round 1: 2 owners at once")
	}
	got := drillcli.Table(r)
	if n := strings.Count(got, "because"); n != 10 || !strings.Contains(got, "40 more, in --json and --html") {
		t.Errorf("%d reasons:\n%s", n, got)
	}
}

func TestTook(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "0s", .00004: "0s", .00006: "100µs", .00041: "400µs", .0099: "9.9ms", .0414: "41ms", .9994: "999ms", 1.04: "1s", 1.06: "1.1s", 61: "1m1s",
	} {
		if got := drillcli.Took(seconds); got != want {
			t.Errorf("%v: %s, want %s", seconds, got, want)
		}
	}
}

func TestProgressLine(t *testing.T) {
	var out bytes.Buffer
	drillcli.Show(&out, true, drill.Progress{Scenario: "race", Round: 7, Rounds: 50, Owners: 1})
	if got := out.String(); got != "\r\x1b[Krace  round 7 of 50, 1 owner at most, 0s\r\x1b[K" {
		t.Errorf("%q", got)
	}
	out.Reset()
	drillcli.Show(&out, false, drill.Progress{Scenario: "race"})
	if out.Len() > 0 {
		t.Errorf("without a terminal: %q", out.String())
	}
}
