package report

import (
	"bufio"
	"fmt"
	"io"
	"time"
)

// WriteText writes the table, at most 120 columns wide as long as the names are
// not longer than the benchmark's own.
func (r *Report) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	r.head(b)
	r.writeSupervisors(b)
	r.writeCosts(b)
	r.writePartitions(b)
	for _, g := range r.Groups {
		fmt.Fprintf(b, "\n%s\n", g.Title)
		for _, row := range g.Rows {
			fmt.Fprintln(b, row.line())
		}
		for _, n := range g.Notes {
			fmt.Fprintln(b, "  ("+n+")")
		}
	}
	if len(r.Targets) > 0 {
		fmt.Fprintln(b, "\nTargets")
	}
	for _, t := range r.Targets {
		fmt.Fprintln(b, t.line())
	}
	return b.Flush()
}

func (r *Report) head(b io.Writer) {
	m := r.Machine
	fmt.Fprintf(b, `solehold beside its floors and its peers, %s
%d x %s, Linux %s, %s, load %s
below %s (%s)
`, m.Time.Format(time.DateTime), m.CPUs, m.CPU, m.Kernel, m.Go, m.Load, m.Dir, m.Filesystem)
	if !r.paired() {
		return
	}
	fmt.Fprint(b, `Each pair was measured in turn, A B A B ..., in short batches; a ratio is the median of the ratios of all pairs, then
the smallest and the largest. Absolute figures are medians, in brackets the largest. Ratios travel; the rest does not.

`)
	fmt.Fprintf(b, rowFormat+"\n", "", "solehold", "the other", "ratio", "min .. max", "pairs")
}

// paired says whether a row compares.
func (r *Report) paired() bool {
	for _, g := range r.Groups {
		for _, row := range g.Rows {
			if row.Other != nil {
				return true
			}
		}
	}
	return false
}

const rowFormat = "  %-48s %18s %18s %7s %15s %6s"

func (r Row) line() string {
	if r.Other == nil {
		return fmt.Sprintf("  %-48s %18s", r.What, r.Ours.text(r.Unit))
	}
	ratio, span, pairs := "", "", ""
	if r.Ratio != nil {
		ratio, span, pairs = number(r.Ratio.Median), number(r.Ratio.Min)+" .. "+number(r.Ratio.Max), fmt.Sprint(r.Ratio.Pairs)
	}
	return fmt.Sprintf(rowFormat, r.What, r.Ours.text(r.Unit), r.Other.text(r.Unit), ratio, span, pairs)
}

func (t Target) line() string {
	if t.Figure == nil {
		return fmt.Sprintf("  %-12s %s", "not measured", t.Text)
	}
	verdict := "missed"
	if t.Met() {
		verdict = "met"
	}
	return fmt.Sprintf("  %-12s %-70s %12s", verdict, t.Text, quantity(*t.Figure, t.Unit))
}

func (f Figure) text(unit string) string {
	if !f.ShowMax {
		return quantity(f.Median, unit)
	}
	return quantity(f.Median, unit) + " (" + quantity(f.Max, unit) + ")"
}

// quantity writes a figure with its unit, times in the unit that suits them.
func quantity(v float64, unit string) string {
	switch {
	case unit == "x":
		return number(v) + "x"
	case unit != "ns":
		return number(v) + " " + unit
	case v < 1e3:
		return number(v) + " ns"
	case v < 1e6:
		return number(v/1e3) + " us"
	case v < 1e9:
		return number(v/1e6) + " ms"
	}
	return number(v/1e9) + " s"
}

// number writes three digits.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
