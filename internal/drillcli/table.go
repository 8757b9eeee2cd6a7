package drillcli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/drill"
)

// table is the answer for people, one screen: what was seen, the verdict, and how to see it again.
func table(r drill.Report) string {
	var t strings.Builder
	rounds := len(r.Rounds)
	fmt.Fprintf(&t, "%s  %d starts x %s on: %s\n", r.Scenario, r.Starters, counted(rounds, "round"), solehold.CommandLine(r.Command))
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&t, "  %-11s %s\n", name, solehold.Printable(fmt.Sprintf(format, args...)))
	}
	if rounds > 0 {
		row("at once", "%s", atOnce(r))
		row("refused", "%s", refused(r.Refused))
		row("next owner", "%s", next(r))
		if r.Cut.Count > 0 {
			row("after cut", "%s", spans(r.Cut, "after the cut of the owner's link"))
		}
		if r.Healthy.Count > 0 {
			row("healthy", "%s", spans(r.Healthy, "after the start"))
		}
		row("left over", "%s", orNone(r.Left))
		row("known by", "%s", orNone(r.By))
	}
	for _, note := range r.Notes {
		row("note", "%s", note)
	}
	for _, gap := range r.Gaps {
		row("not seen", "%s", gap)
	}
	if r.Kept {
		row("kept", "%s", r.Dir)
	}
	const most = 10
	for _, reason := range r.Reasons[:min(len(r.Reasons), most)] {
		row("because", "%s", reason)
	}
	if n := len(r.Reasons) - most; n > 0 {
		row("", "%d more, in --json and --html", n)
	}
	verdict := strings.ToUpper(string(r.Verdict))
	if r.Again == "" {
		return t.String() + verdict + "\n"
	}
	fmt.Fprintf(&t, "%-6s seed %d; again: %s\n", verdict, r.Seed, solehold.Printable(r.Again))
	return t.String()
}

// atOnce says how many owners there were, and in how many rounds no more than one.
func atOnce(r drill.Report) string {
	good := 0
	for _, round := range r.Rounds {
		if round.Owners <= 1 {
			good++
		}
	}
	rounds := fmt.Sprintf("%d of %s", good, counted(len(r.Rounds), "round"))
	if r.Owners > 1 {
		return fmt.Sprintf("%d OWNERS; one at most in %s", r.Owners, rounds)
	}
	return fmt.Sprintf("%s at most, in %s", counted(r.Owners, "owner"), rounds)
}

// refused counts the starts that were turned away, by how they ended.
func refused(r drill.Refusals) string {
	if r.Count == 0 {
		return "none"
	}
	text := fmt.Sprintf("%d, slowest %s: ", r.Count, took(r.Slowest))
	if len(r.Ends) == 1 {
		for end := range r.Ends {
			return text + "all " + end
		}
	}
	var ends []string
	for _, end := range slices.Sorted(maps.Keys(r.Ends)) {
		ends = append(ends, fmt.Sprintf("%d %s", r.Ends[end], end))
	}
	return text + strings.Join(ends, ", ")
}

// next gives the times from a death to the next owner.
func next(r drill.Report) string {
	if r.Next.Count == 0 && slices.Contains(r.By, drill.ByLife) {
		return "not timed: that a start owns the data is only known by its living on"
	}
	return spans(r.Next, "after death, or its start if later")
}

// spans gives the middle and the longest of some durations.
func spans(t drill.Times, since string) string {
	switch t.Count {
	case 0:
		return "none came"
	case 1:
		return fmt.Sprintf("%s %s", took(t.Slowest), since)
	}
	return fmt.Sprintf("%s %s (median of %d), slowest %s", took(t.Median), since, t.Count, took(t.Slowest))
}

// took is a duration in three digits or so.
func took(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

func orNone(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// progress is the line that changes while a drill runs. Where there is no terminal nothing is shown: the answer comes.
type progress struct {
	to    io.Writer
	live  bool
	began time.Time
	shown bool
}

func (p *progress) show(now drill.Progress) {
	if !p.live {
		return
	}
	p.shown = true
	fmt.Fprintf(p.to, "\r\x1b[K%s  round %d of %d, %s at most, %s", now.Scenario, now.Round, now.Rounds,
		counted(now.Owners, "owner"), solehold.Age(time.Since(p.began)))
}

// clear removes the line before something else is printed.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
	p.shown = false
}
