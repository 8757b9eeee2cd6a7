package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose/overview"
)

// noLimit is the width of what is no screen.
const noLimit = 1 << 16

func titles() []string {
	return []string{"STATE", "DIRECTORY", "SINCE", "TOKEN", "HEALTH", "OWNER", "WHAT HAPPENED"}
}

// cells are the columns of a row.
func cells(d overview.Directory, now time.Time) []string {
	age, owner := "-", "-"
	if o := d.Owner; o != nil {
		if owner = "not visible here"; o.Visible() {
			owner = strings.TrimSpace(fmt.Sprintf("%d %s", o.PID, solehold.CommandLine(o.Command)))
		}
		if !o.Since.IsZero() {
			age = solehold.Age(now.Sub(o.Since))
		}
	}
	return []string{string(d.State), solehold.Printable(d.Path), age, fmt.Sprint(d.Token), solehold.Printable(cmp.Or(d.Service(), "-")), owner, happened(d)}
}

// happened says in words what an operator would ask for next, the most pressing first.
func happened(d overview.Directory) string {
	var all []string
	if d.Problem != nil {
		all = append(all, string(d.Problem.Kind)+": "+d.Problem.Detail)
	}
	if !d.GaveUp.IsZero() {
		all = append(all, "given up "+d.GaveUp.UTC().Format("01-02 15:04:05Z"))
	}
	all = append(all, d.Findings...)
	for _, c := range []struct {
		n    int
		text string
	}{{d.Waiters, "waiting"}, {d.Restarts, "restarts"}, {d.Refusals, "refused"}, {d.Incidents, "incidents"}, {d.Losses, "lost"}} {
		if c.n > 0 {
			all = append(all, fmt.Sprintf("%d %s", c.n, c.text))
		}
	}
	if d.Remote != nil {
		all = append(all, "locked at "+d.Remote.Engine)
	}
	return solehold.Printable(strings.Join(all, ", "))
}

// table aligns the rows below their titles. Where it would be wider than the screen,
// paths lose their beginning and owners their end.
func table(rows []overview.Directory, now time.Time, width int) []string {
	all := [][]string{titles()}
	for _, d := range rows {
		all = append(all, cells(d, now))
	}
	const path, owner, part = 1, 5, 4
	for _, row := range all[1:] {
		row[path] = tail(row[path], max(12, width/part+4))
		row[owner] = head(row[owner], max(12, width/part))
	}
	widths := make([]int, len(titles()))
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var lines []string
	for _, row := range all {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell + strings.Repeat(" ", 2+widths[i]-utf8.RuneCountInString(cell)))
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	if len(rows) == 0 {
		lines = append(lines, "nobody is seen to have a data directory, and none was named")
	}
	return lines
}

func head(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

func tail(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return "…" + string(r[len(r)-most+1:])
	}
	return s
}

// summary counts, and says what is not shown.
func summary(h overview.Host) string {
	count := map[solehold.State]int{}
	for _, d := range h.Directories {
		count[d.State]++
	}
	var states []string
	for _, s := range []solehold.State{solehold.Split, solehold.Unguarded, solehold.Detached, solehold.NotKnown, solehold.Held, solehold.Free} {
		if count[s] > 0 {
			states = append(states, fmt.Sprintf("%d %s", count[s], s))
		}
	}
	noun := "directories"
	if len(h.Directories) == 1 {
		noun = "directory"
	}
	text := fmt.Sprintf("%s  %d %s", h.At.UTC().Format("15:04:05Z"), len(h.Directories), noun)
	if len(states) > 0 {
		text += ": " + strings.Join(states, ", ")
	}
	if h.LeftOut > 0 {
		text += fmt.Sprintf("; %d more are left out", h.LeftOut)
	}
	if h.Unseen > 0 {
		text += fmt.Sprintf("; %d locks whose holders cannot be seen from here", h.Unseen)
	}
	if n := len(h.Doctor.Findings); n > 0 {
		text += fmt.Sprintf("; findings: %d (solehold doctor)", n)
	}
	return text
}
