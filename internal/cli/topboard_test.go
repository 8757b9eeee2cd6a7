package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/journal"
)

// row makes a row for the screen.
func row(path string, state solehold.State, change func(*overview.Directory)) overview.Directory {
	d := overview.Directory{Path: path, Report: diagnose.Report{Status: solehold.Status{Dir: path, State: state}}}
	if change != nil {
		change(&d)
	}
	return d
}

func owned(pid int, since time.Time) func(*overview.Directory) {
	return func(d *overview.Directory) {
		d.Owner = &solehold.Owner{PID: pid, Command: []string{"kb", "--addr", ":8080"}, Since: since}
	}
}

var (
	now  = time.Date(2026, 11, 29, 13, 20, 7, 0, time.UTC)
	many = []overview.Directory{
		row("/srv/a", solehold.Held, owned(10, now.Add(-time.Hour))),
		row("/srv/b", solehold.Free, func(d *overview.Directory) { d.Refusals = 3 }),
		row("/srv/c", solehold.Split, func(d *overview.Directory) { d.Findings = []string{"SH030: two writers"} }),
		row("/srv/d", solehold.Held, func(d *overview.Directory) {
			owned(11, now)(d)
			d.Health = &journal.Pulse{State: "unhealthy"}
			d.Restarts, d.Waiters = 2, 1
		}),
		row("/srv/e", solehold.NotKnown, func(d *overview.Directory) {
			d.Problem = &overview.Problem{Kind: overview.Hung, Detail: "no answer within 5s"}
			d.Incidents = 4
		}),
	}
)

func order(rows []overview.Directory) (names string) {
	for _, d := range rows {
		names += strings.TrimPrefix(d.Path, "/srv/")
	}
	return names
}

func TestTopOrders(t *testing.T) {
	want := map[string]string{
		"state": "cedab", "directory": "abcde", "since": "dabce", "restarts": "dabce", "refused": "bacde", "incidents": "eabcd", "waiting": "dabce",
	}
	for _, by := range orders() {
		b := board{sort: by}
		if got := order(b.rows(many)); got != want[by] {
			t.Errorf("by %s: %s, want %s", by, got, want[by])
		}
		b.reverse = true
		if got := []byte(order(b.rows(many))); !slices.Equal(got, reversed(want[by])) {
			t.Errorf("by %s reversed: %s", by, got)
		}
	}
}

func reversed(s string) []byte {
	b := []byte(s)
	slices.Reverse(b)
	return b
}

// A filter is for what a person sees, in any column and in any case.
func TestTopFilters(t *testing.T) {
	for text, want := range map[string]string{"": "abcde", "/SRV/B": "b", "held": "ad", "kb --addr": "ad", "two writers": "c", "no answer": "e", "nothing": ""} {
		b := board{sort: "directory", filter: text}
		if got := order(b.rows(many)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// Keys are what a terminal sends, together or one by one.
func TestTopKeys(t *testing.T) {
	h := overview.Host{At: now, Directories: many}
	for keys, want := range map[string]board{
		"s":                      {sort: "directory"},
		"sssssss":                {sort: "state"},
		"r":                      {sort: "state", reverse: true},
		"/kb":                    {sort: "state", filter: "kb", typing: true},
		"/kü\r":                  {sort: "state", filter: "kü"},
		"/kü\x7f\x7f\x7f\x7fx\r": {sort: "state", filter: "x"},
		"/q\r":                   {sort: "state", filter: "q"},
		"/x\x01\x1b[Ay\r":        {sort: "state", filter: "xy"},
		"/x\r\x1b":               {sort: "state"},
		"/x\x1b":                 {sort: "state"},
		"\x1b[B\x1b[B\x1b[A":     {sort: "state", first: 1},
		"\x1b[6~":                {sort: "state", first: 2},
		"\x1b[F":                 {sort: "state", first: 3},
		"\x1b[F\x1b[H":           {sort: "state"},
		"\x1b[A\x1b[5~":          {sort: "state"},
		"\x1b[1;5Z":              {sort: "state"},
		"q":                      {sort: "state", quit: true},
		"/x\x03":                 {sort: "state", filter: "x", typing: true, quit: true},
		"qs":                     {sort: "state", quit: true},
		"\xff":                   {sort: "state"},
	} {
		b := board{sort: "state"}
		b.picture(h, 80, 5) // two rows are shown
		b.typed([]byte(keys))
		b.picture(h, 80, 5)
		want.page = 2
		if b != want {
			t.Errorf("%q: %+v, want %+v", keys, b, want)
		}
	}
}

// A picture has as many lines as the screen at most, at any size, and says what it
// leaves out.
func TestTopPictures(t *testing.T) {
	h := overview.Host{At: now, Directories: many}
	for height := 1; height < 12; height++ {
		for _, width := range []int{1, 20, 80, 300} {
			b := board{sort: "directory"}
			lines, _ := b.picture(h, width, height)
			if len(lines) != height {
				t.Errorf("%d lines on %d", len(lines), height)
			}
		}
	}
	b := board{sort: "directory", first: 1}
	lines, strong := b.picture(h, 80, 5)
	if !strings.HasPrefix(lines[4], "2 to 3 of 5   q quit   s sort: directory   r reverse   / filter") || !strings.HasPrefix(lines[2], "FREE ") || strong[2] || !strong[3] {
		t.Errorf("%q %v", lines, strong)
	}
	if lines[0] != "13:20:07Z  5 directories: 1 SPLIT, 1 UNKNOWN, 2 HELD, 1 FREE" {
		t.Error(lines[0])
	}
	b.typed([]byte("r/none"))
	if lines, _ = b.picture(h, 80, 5); lines[4] != "filter: none_   (Enter keeps it, Esc drops it)" {
		t.Error(lines)
	}
	b.typed([]byte("\r"))
	if lines, _ = b.picture(h, 80, 5); !strings.HasSuffix(lines[4], `s sort: directory, reversed   r reverse   / filter: "none", Esc drops it`) {
		t.Error(lines)
	}
	if lines, _ = (&board{}).picture(overview.Host{}, 80, 5); lines[0] != "looking …" {
		t.Error(lines)
	}
	h.LeftOut, h.Unseen = 7, 2
	h.Doctor.Findings = append(h.Doctor.Findings, h.Doctor.Findings...)
	if got := summary(h); !strings.HasSuffix(got, "; 7 more are left out; 2 locks whose holders cannot be seen from here") {
		t.Error(got)
	}
}

// The table is aligned, in characters; long paths show their end, and what others
// have chosen cannot reach the terminal.
func TestTopTable(t *testing.T) {
	rows := []overview.Directory{
		row("/srv/"+strings.Repeat("ü", 100)+"/data", solehold.Held, owned(1, now.Add(-90*time.Second))),
		row("/srv/x\x1b[2J\u202e", solehold.Free, nil),
		row("/y", solehold.Held, func(d *overview.Directory) {
			d.Owner = &solehold.Owner{}
			d.GaveUp, d.Losses, d.Remote = now, 1, &solehold.Cluster{Engine: "etcd"}
		}),
		row("/z", solehold.Held, func(d *overview.Directory) {
			owned(2, time.Time{})(d)
			d.ReadySince = now
		}),
	}
	got := strings.Join(table(rows, now, 80), "\n")
	want := `STATE  DIRECTORY                 SINCE  TOKEN  HEALTH    OWNER              WHAT HAPPENED
HELD   …ÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜ/data  1m30s  0      -         1 kb --addr :8080
FREE   /srv/x?[2J?               -      0      -         -
HELD   /y                        -      0      given up  not visible here   given up 11-29 13:20:07Z, 1 lost, locked at etcd
HELD   /z                        -      0      ready     2 kb --addr :8080`
	if got != strings.ReplaceAll(want, "Ü", "ü") {
		t.Errorf("%s", got)
	}
	if none := table(nil, now, 80); len(none) != 2 || !strings.Contains(none[1], "nobody is seen") {
		t.Error(none)
	}
	if wide := table(rows, now, noLimit); !strings.Contains(wide[1], fmt.Sprint("/srv/", strings.Repeat("ü", 100), "/data")) {
		t.Error(wide[1])
	}
}
