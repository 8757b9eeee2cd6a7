package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/bench/internal/drift"
	"github.com/solehold/solehold/bench/internal/helper"
	"github.com/solehold/solehold/bench/internal/report"
	"github.com/solehold/solehold/bench/internal/turn"
)

// run returns the exit code.
func run() int {
	if len(os.Args) > 1 && os.Args[1] == helper.Word {
		if err := helper.Main(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench helper:", err)
			return 1
		}
		return 0
	}
	s := flags()
	os.Unsetenv(solehold.TokenVar) // below a `solehold run` a refused try would look for its holder
	dir, err := os.MkdirTemp(s.dir, "solehold-bench-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 0
	}
	defer os.RemoveAll(dir)
	if s.check {
		return check(dir)
	}
	b := &bench{settings: s, dir: dir, report: report.Report{Machine: machine(dir)}}
	switch s.table {
	case tableSupervisors:
		b.supervisors()
	case tablePartition:
		b.part("What was left out", b.partitions)
	case tableVet:
		b.part("solehold vet beside go vet, both under the go command, nothing found before", b.vet)
		b.report.Judge(vetTargets())
	default:
		b.all()
	}
	if err := b.write(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	return 0
}

// check prints solehold's calls and how the floor's differ.
func check(dir string) int {
	all, err := drift.Compare(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	code := 0
	for _, c := range all {
		fmt.Printf("%s: %d system calls of solehold\n", c.Name, len(c.Calls))
		for _, call := range c.Calls {
			fmt.Println("  ", call)
		}
		if c.Diff != "" {
			fmt.Printf("the floor differs (- solehold, + floor):\n%s", c.Diff)
			code = 1
		}
	}
	return code
}

// bench is one run.
type bench struct {
	settings
	dir    string // everything is made below it
	report report.Report
	group  *report.Group // the one being filled
	built  *tools        // nil until the command line is measured
}

// all measures everything. What cannot be measured is a note in the table.
func (b *bench) all() {
	for _, part := range []struct {
		title string
		run   func() error
	}{
		{"1 uncontended acquire and release, without sync", func() error { return b.uncontended(false) }},
		{"1 the same with a sync of the record (the default)", func() error { return b.uncontended(true) }},
		{"2 refused try, held by another process", b.refused},
		{"2 questions that take nothing", b.queries},
		{"3 hand-off to a waiting process after a release", func() error { return b.handoff(false) }},
		{"3 hand-off after SIGKILL of the holder", func() error { return b.handoff(true) }},
		{"3 idle: voluntary context switches of all threads a second", b.idle},
		{"4 command line: from spawn until the child's main runs", b.startup},
		{"4 command line: idle `solehold run`, and `status`", b.resident},
		{"5 doctor: all locks of a host, from spawn to end", b.doctor},
		{"6 locks by key within one process", b.keys},
	} {
		b.part(part.title, part.run)
	}
	b.report.Judge(targets())
}

// part measures one group.
func (b *bench) part(title string, run func() error) {
	b.group = &report.Group{Title: title}
	if err := run(); err != nil {
		b.note("stopped: %v", err)
	}
	if len(b.group.Rows)+len(b.group.Notes) > 0 {
		b.report.Groups = append(b.report.Groups, b.group)
	}
}

func (b *bench) write() error {
	if err := b.report.WriteText(os.Stdout); err != nil || b.json == "" {
		return err
	}
	f, err := os.Create(b.json)
	if err != nil {
		return err
	}
	defer f.Close()
	return b.report.WriteJSON(f)
}

func (b *bench) note(format string, args ...any) {
	b.group.Notes = append(b.group.Notes, fmt.Sprintf(format, args...))
}

// wants says whether a row is asked for.
func (b *bench) wants(key string) bool { return b.only.MatchString(key) }

// place makes a new directory.
func (b *bench) place(name string) (string, error) {
	dir := filepath.Join(b.dir, name)
	return dir, os.MkdirAll(dir, 0o700)
}

// batch is how long one sample of something short takes: less than the time after
// which the kernel lets another program run.
const batch = 500 * time.Microsecond

// plan is the time for one pair: the whole for what a target depends on, a
// third of it for the others.
func (b *bench) plan(important bool) turn.Plan {
	p := turn.Plan{Rounds: 20, Time: 4 * time.Second}
	if !important {
		p.Time /= 3
	}
	if b.quick {
		p.Rounds, p.Time = 5, p.Time/10
	}
	return p
}

// pair is one row that is to be measured: ours and what it is compared to.
type pair struct {
	key, what   string
	ours, other turn.Side
	important   bool
}

// measure fills one row, if it is asked for.
func (b *bench) measure(p pair) {
	if !b.wants(p.key) {
		return
	}
	all, err := b.plan(p.important).Run(p.ours, p.other)
	if err != nil {
		b.note("%s: %v", p.what, err)
		return
	}
	b.add(p.key, p.what, all)
}

// add compares the first series to the second.
func (b *bench) add(key, what string, all []turn.Series) {
	other, ratio := report.FigureOf(all[1], false), all[0].Over(all[1])
	b.group.Rows = append(b.group.Rows, report.Row{
		Key: key, What: what, Unit: "ns", Ours: report.FigureOf(all[0], false), Other: &other, Ratio: &ratio,
	})
}

// single is a row of ours alone.
func (b *bench) single(key, what, unit string, f report.Figure) {
	b.group.Rows = append(b.group.Rows, report.Row{Key: key, What: what, Unit: unit, Ours: f})
}
