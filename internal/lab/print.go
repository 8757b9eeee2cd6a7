package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

const textWidth = 110

// print writes a result for people: first how it came out, then the claim, what happened, and what to do.
func (r *Result) print(w io.Writer) {
	fmt.Fprintf(w, "%-12s %s  (%s)\n", r.Name, r.Title, r.verdict())
	paragraph(w, "believed", r.Believed)
	paragraph(w, "happens", r.Happens)
	for i, m := range r.Measured {
		label := ""
		if i == 0 {
			label = "measured"
		}
		if r.Outcome == NotRun {
			break
		}
		fmt.Fprintf(w, "  %-9s %s: %s\n", label, m.What, m.text())
	}
	paragraph(w, "do", r.Advice)
	fmt.Fprintln(w)
}

func paragraph(w io.Writer, label, text string) {
	fmt.Fprintf(w, "  %-9s %s\n", label, wrap(text, strings.Repeat(" ", 12), textWidth))
}

func (m Measured) text() string {
	switch {
	case m.Got == "":
		return "not measured"
	case !m.Holds():
		return m.Got + "   <- not as described: " + m.Want
	}
	return m.Got
}

func (r *Result) verdict() string {
	switch r.Outcome {
	case NotRun:
		return "not run: " + r.Missing
	case Failed:
		return "broke off: " + r.Error
	}
	return fmt.Sprintf("%s, %.1fs", r.Outcome, r.Seconds)
}

// tally counts outcomes.
type tally map[Outcome]int

func (t tally) String() string {
	var parts []string
	for _, o := range []Outcome{AsDescribed, Otherwise, Failed, NotRun} {
		if t[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", t[o], o))
		}
	}
	return strings.Join(parts, ", ")
}

// code is the exit code of a run.
func (t tally) code() int {
	switch {
	case t[Otherwise] > 0:
		return exitOtherwise
	case t[Failed]+t[NotRun] > 0:
		return exitPartly
	}
	return 0
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// progress tells on w that something takes longer than a second, until it is told to end. On a terminal the line is
// rewritten and removed, elsewhere it is written once.
func progress(w io.Writer, terminal bool, what string) (end func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		begin, tick := time.Now(), time.NewTicker(time.Second)
		defer tick.Stop()
		for told := false; ; {
			select {
			case <-stop:
				if told && terminal {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			case <-tick.C:
				switch {
				case terminal:
					fmt.Fprintf(w, "\r%s: %s", what, time.Since(begin).Round(time.Second))
				case !told:
					fmt.Fprintf(w, "%s: takes more than a second\n", what)
				}
				told = true
			}
		}
	}()
	return func() { close(stop); <-ended }
}
