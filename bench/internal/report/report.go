// Package report is what the benchmark found, and its two forms: a table of
// plain text and JSON.
package report

import (
	"encoding/json"
	"io"
	"time"

	"github.com/solehold/solehold/bench/internal/turn"
)

// Report is one run.
type Report struct {
	// Machine is where it ran.
	Machine Machine `json:"machine"`
	// Supervisors are the table of what lives, where it was asked for.
	Supervisors []Supervisor `json:"supervisors,omitempty"`
	// Costs are the table of what supervisors cost, where it was asked for.
	Costs []Cost `json:"costs,omitempty"`
	// Partitions are the table of holders cut off, where it was asked for.
	Partitions []Partition `json:"partitions,omitempty"`
	// Groups are the parts of the table, in their order.
	Groups []*Group `json:"groups"`
	// Targets are the promises of the design that the run can judge.
	Targets []Target `json:"targets"`
}

// Machine is what figures depend on.
type Machine struct {
	// CPU is the processor's model, CPUs how many there are.
	CPU  string `json:"cpu"`
	CPUs int    `json:"cpus"`
	// Kernel is the release of the operating system.
	Kernel string `json:"kernel"`
	// Go is the version of the compiler.
	Go string `json:"go"`
	// Filesystem is the type, Dir the directory that the locks were in.
	Filesystem string `json:"filesystem"`
	Dir        string `json:"dir"`
	// Load is the load average of the last minute before the run.
	Load string `json:"load"`
	// Time is when the run began.
	Time time.Time `json:"time"`
}

// Group is one part of the table.
type Group struct {
	// Title says what is measured.
	Title string `json:"title"`
	// Rows are its lines.
	Rows []Row `json:"rows"`
	// Notes are lines below it: what was left out, and why.
	Notes []string `json:"notes,omitempty"`
}

// Row is one line: ours alone, or ours beside something else.
type Row struct {
	// Key names the row for good: in -run, in the targets and in JSON.
	Key string `json:"key"`
	// What is the line's text: what ours is compared to, or what it is.
	What string `json:"what"`
	// Unit is "ns", "KiB" or "/s".
	Unit string `json:"unit"`
	// Ours and Other are the two figures; Other is nil for a line of one.
	Ours  Figure  `json:"ours"`
	Other *Figure `json:"other,omitempty"`
	// Ratio is ours over the other, pair by pair.
	Ratio *turn.Ratio `json:"ratio,omitempty"`
}

// Figure is what one side took.
type Figure struct {
	// Median and Max of the samples.
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
	// ShowMax says that the table shows Max too: samples are single events, not
	// means of many.
	ShowMax bool `json:"-"`
}

// FigureOf sums up a series.
func FigureOf(s turn.Series, showMax bool) Figure {
	return Figure{s.Median(), s.Max(), showMax}
}

// Target is one promise of the design.
type Target struct {
	// Text is the promise, Limit the largest figure that keeps it.
	Text  string  `json:"text"`
	Limit float64 `json:"limit"`
	// Row is the key of the row that judges it, Ratio whether by its ratio.
	Row   string `json:"row"`
	Ratio bool   `json:"by_ratio"`
	// Figure is what was measured in the row's unit, nil where it was not.
	Figure *float64 `json:"figure"`
	// Unit is that of Figure, "x" for a ratio.
	Unit string `json:"unit"`
}

// Met reports whether the figure keeps the promise.
func (t Target) Met() bool { return t.Figure != nil && *t.Figure <= t.Limit }

// Find returns the row with the key, nil where it was not measured.
func (r *Report) Find(key string) *Row {
	for _, g := range r.Groups {
		for i := range g.Rows {
			if g.Rows[i].Key == key {
				return &g.Rows[i]
			}
		}
	}
	return nil
}

// Judge fills in the targets' figures and keeps them.
func (r *Report) Judge(targets []Target) {
	for _, t := range targets {
		row := r.Find(t.Row)
		switch {
		case row == nil:
		case !t.Ratio:
			t.Figure, t.Unit = &row.Ours.Median, row.Unit
		case row.Ratio != nil:
			t.Figure, t.Unit = &row.Ratio.Median, "x"
		}
		r.Targets = append(r.Targets, t)
	}
}

// WriteJSON writes the whole report.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
