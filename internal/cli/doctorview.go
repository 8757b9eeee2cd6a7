package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose/doctor"
)

// margin is where the lines below a headline begin.
const margin = "       "

// printDoctor writes the answer: how much there is, then what was asked for,
// then each finding with its proof and the next step, then what is not known.
func (a *app) printDoctor(w io.Writer, r doctor.Report) {
	fmt.Fprintln(w, doctorHeadline(r))
	for _, s := range r.Paths {
		a.printSubject(w, s)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%s  %-7s  %s\n", a.bold(f.ID), f.Severity, solehold.Printable(f.Title+confidence(f.Confidence)))
		for _, e := range f.Evidence {
			fmt.Fprintf(w, "%s%s\n", margin, e)
		}
		fmt.Fprintf(w, "%snext: %s\n", margin, solehold.Printable(f.Advice))
	}
	if tree := r.Graph.Tree(); tree != "" {
		fmt.Fprintln(w, "who waits for whom")
		fmt.Fprint(w, indented(tree))
	}
	for _, g := range r.Gaps {
		fmt.Fprintf(w, "%snot read: %s: %s\n", margin, solehold.Printable(g.What), solehold.Printable(g.Why))
	}
}

func doctorHeadline(r doctor.Report) string {
	found := doctor.Headline(len(r.Findings), len(r.Gaps))
	return fmt.Sprintf("%s (%d processes, %d descriptors, %d locks)", found, r.Seen.Processes, r.Seen.Descriptors, r.Seen.Locks)
}

func confidence(c doctor.Confidence) string {
	if c == doctor.Certain {
		return ""
	}
	return " (" + string(c) + ")"
}

func (a *app) printSubject(w io.Writer, s doctor.Subject) {
	head := s.Kind + ": " + s.State
	if s.Lock != "" {
		head += " (" + s.Lock + ")"
	}
	fmt.Fprintf(w, "%s  %s\n", a.bold(solehold.Printable(s.Path)), solehold.Printable(head))
	for _, p := range s.Holders {
		fmt.Fprintf(w, "%sholder: %s\n", margin, processText(p))
	}
	for _, p := range s.Waiters {
		fmt.Fprintf(w, "%swaits:  %s\n", margin, processText(p))
	}
	for _, n := range s.Notes {
		fmt.Fprintf(w, "%s%s\n", margin, n)
	}
}

func processText(p doctor.Process) string {
	text := fmt.Sprintf("pid %d  %s", p.PID, p.Command)
	if p.UID != nil {
		text += fmt.Sprintf("  uid %d", *p.UID)
	}
	if p.Unit != "" {
		text += "  " + p.Unit
	}
	if p.Container != "" {
		text += "  container " + p.Container[:min(12, len(p.Container))]
	}
	if p.State == "T" {
		text += "  stopped"
	}
	return solehold.Printable(text)
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(margin + line)
	}
	return b.String()
}
