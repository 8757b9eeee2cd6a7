package web

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/docs/findings"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/journal"
)

func TestAges(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", time.Minute + 5*time.Second: "1m05s", 2*time.Hour + 14*time.Minute: "2h14m", 151 * time.Hour: "6d7h",
	} {
		if got := age(d); got != want {
			t.Errorf("%v: %s, not %s", d, got, want)
		}
		if got, other := age(d), solehold.Age(d); got != other {
			t.Errorf("%v: %s here, %s elsewhere", d, got, other)
		}
	}
	now := time.Date(2026, 11, 29, 15, 34, 7, 0, time.UTC)
	if got := ago(now.Add(-2*time.Hour), now); got != `<time datetime="2026-11-29T13:34:07Z" title="2026-11-29 13:34:07Z">2h00m</time>` {
		t.Error(got)
	}
	if ago(time.Time{}, now) != "–" || stamp(time.Time{}) != "–" {
		t.Error("a time that is not known")
	}
}

// Each state has a word, and a shape and a class of its kind.
func TestStates(t *testing.T) {
	for state, want := range map[solehold.State]string{
		solehold.Held: "● held", solehold.Free: "○ free", solehold.NotKnown: "? unknown", solehold.Split: "▲ danger", solehold.Unguarded: "▲ danger", solehold.Detached: "▲ danger",
	} {
		if got := shape(state) + " " + kind(state); got != want {
			t.Errorf("%s: %s", state, got)
		}
	}
}

func TestTook(t *testing.T) {
	for s, want := range map[float64]string{0.0004: "400µs", 0.0123: "12.3ms", 2.5: "2.5s", 90: "1m30s"} {
		if got := took(s); got != want {
			t.Errorf("%v: %s", s, got)
		}
	}
	if got := summed(overview.Durations{Count: 2, Sum: 0.004, Last: 0.001}); got != "2.0ms on average, 1.0ms the last time (2 times)" {
		t.Error(got)
	}
	if got := summed(overview.Durations{Count: 1, Sum: 0.001, Last: 0.001}); got != "1.0ms, once" {
		t.Error(got)
	}
	if got := summed(overview.Durations{}); got != "not told" {
		t.Error(got)
	}
}

func TestShort(t *testing.T) {
	for text, want := range map[string]string{"kb": "kb", "abcdef": "abcd…", "ääääää": "ääää…"} {
		if got := short(5, text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// row is a directory in a state.
func row(path string, state solehold.State, change func(*overview.Directory)) overview.Directory {
	d := overview.Directory{Report: diagnose.Report{Status: solehold.Status{Dir: path, State: state}}, Path: path}
	if change != nil {
		change(&d)
	}
	return d
}

func TestHealthWord(t *testing.T) {
	now := time.Now()
	for want, change := range map[string]func(*overview.Directory){
		"–":         nil,
		"ready":     func(d *overview.Directory) { d.ReadySince = now },
		"unhealthy": func(d *overview.Directory) { d.ReadySince, d.Health = now, &journal.Pulse{State: "unhealthy"} },
		"given up":  func(d *overview.Directory) { d.Health, d.GaveUp = &journal.Pulse{State: "ready"}, now },
	} {
		if got := health(row("/kb", solehold.Held, change)); got != want {
			t.Errorf("%s: %s", want, got)
		}
	}
}

// What needs somebody comes first; otherwise the order is the one asked for.
func TestOrder(t *testing.T) {
	now := time.Now()
	rows := func() []overview.Directory {
		return []overview.Directory{
			row("/a", solehold.Free, func(d *overview.Directory) { d.Restarts = 1 }),
			row("/b", solehold.Held, func(d *overview.Directory) { d.Owner, d.Refusals = &solehold.Owner{Since: now.Add(-time.Hour)}, 9 }),
			row("/c", solehold.Held, func(d *overview.Directory) { d.Owner, d.GaveUp = &solehold.Owner{Since: now.Add(-time.Minute)}, now }),
			row("/d", solehold.Split, func(d *overview.Directory) { d.Restarts = 5 }),
			row("/e", solehold.NotKnown, func(d *overview.Directory) { d.Problem = &overview.Problem{} }),
		}
	}
	for by, want := range map[string]string{"": "/d/e/c/b/a", "path": "/a/b/c/d/e", "since": "/b/c/a/d/e", "refused": "/b/a/c/d/e", "restarts": "/d/a/b/c/e"} {
		all, got := rows(), ""
		arrange(all, by)
		for _, d := range all {
			got += d.Path
		}
		if got != want {
			t.Errorf("%q: %s, not %s", by, got, want)
		}
	}
	d := rows()[1]
	d.Owner.Command, d.Owner.PID = []string{"KB", "--addr"}, 77
	for text, want := range map[string]bool{"": true, "kb --ADDR": true, "77": true, "/b": true, "other": false} {
		if d.Mentions(text) != want {
			t.Errorf("%q", text)
		}
	}
}

// A finding belongs to the innermost directory that its path lies in.
func TestRowOf(t *testing.T) {
	h := overview.Host{Directories: []overview.Directory{row("/srv/kb", solehold.Held, nil), row("/srv/kb/inner", solehold.Held, nil), row("/srv/k", solehold.Held, nil)}}
	for path, want := range map[string]string{
		"/srv/kb": "/srv/kb", "/srv/kb/.solehold/lock": "/srv/kb", "/srv/kb/inner/x": "/srv/kb/inner", "/srv/kbx": "", "": "", "/": "",
	} {
		if d, ok := rowOf(h, path); d.Path != want || ok != (want != "") {
			t.Errorf("%q: %q", path, d.Path)
		}
	}
	h.Doctor.Findings = []doctor.Finding{{ID: "SH001", Path: "/srv/kb/x"}, {ID: "SH002", Path: "/srv/k"}}
	if all := about(h, h.Directories[0]); len(all) != 1 || all[0].ID != "SH001" {
		t.Errorf("%+v", all)
	}
}

// The picture: one bar for each life, the newest at the top, within its bounds; a
// line for each reboot.
func TestChart(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	at := func(h int) time.Time { return now.Add(time.Duration(h-10) * time.Hour) }
	c := draw([]overview.Life{
		{Token: 1, Boot: "a", Start: at(0), End: at(4), How: "released"},
		{Token: 2, Boot: "a", Start: at(4), End: at(5), How: "vanished", Class: "reboot"},
		{Token: 3, Boot: "b", Start: at(5), End: at(5), How: "lost"},
		{Token: 4, PID: 7, Name: "kb", Boot: "b", Start: at(8)},
	}, now)
	want := []string{"4 live 706 154 ", "3 lost 475 3 !", "2 vanished 398 77 ✕", "1 released 90 308 "}
	for i, b := range c.Bars {
		if got := fmt.Sprintf("%s %s %.0f %.0f %s", strings.TrimPrefix(b.Label, "token "), b.Class, b.X, b.Width, b.Mark); got != want[i] {
			t.Errorf("%d: %s, not %s", i, got, want[i])
		}
		if b.Y != 24+22*i || b.X < chartLeft || b.X+b.Width > chartRight+3 {
			t.Errorf("%+v", b)
		}
	}
	if len(c.Reboots) != 1 || c.Reboots[0] != 475 || len(c.Ticks) != 5 || c.Ticks[4].Label != "12:00:00" {
		t.Errorf("%+v", c)
	}
	if got := c.Bars[0].Title; got != "token 4, pid 7 kb: from 2026-11-29 10:00:00Z, still has it" {
		t.Error(got)
	}
	var many []overview.Life
	for i := range 100 {
		many = append(many, overview.Life{Token: uint64(i), Start: now.Add(time.Hour)}) // after now: a clock went back
	}
	if c := draw(many, now); len(c.Bars) != mostBars || c.Bars[0].Label != "token 99" {
		t.Errorf("%d bars, %+v", len(c.Bars), c.Bars[0])
	}
	if c := draw(nil, now); c.Bars != nil {
		t.Errorf("%+v", c)
	}
}

// Our pages about findings become HTML; nothing in them could be an element.
func TestMarkdown(t *testing.T) {
	got := string(markdown("# A <b>\n\nSome `code <x>` and\nmore.\n\n## B\n\n- one\n- two\n\n```sh\nls > x\n\n# no heading\n```\nend\n"))
	want := "<h1>A &lt;b&gt;</h1>\n<p> Some <code>code &lt;x&gt;</code> and\n more.\n</p>\n<h2>B</h2>\n<ul><li>one<li>two</ul>\n<pre>ls &gt; x\n\n# no heading\n</pre>\n<p> end\n</p>\n"
	if got != want {
		t.Errorf("%q\nnot\n%q", got, want)
	}
	for _, id := range findings.IDs() {
		page, _ := findings.Page(id)
		if html := string(markdown(page)); strings.Count(html, "<h1>") != 1 || strings.Contains(html, "\n## ") || strings.Contains(html, "```") {
			t.Errorf("%s: %s", id, html)
		}
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{"ä b\n\tc": "ä b\n\tc", "a\u202eb\x1b[0m": `a\u{202e}b\u{1b}[0m`, "\xff": `�`} {
		if got := string(printable([]byte(text))); strings.ToValidUTF8(got, "�") != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestHostName(t *testing.T) {
	for host, want := range map[string]string{"LocalHost:9321": "localhost", "[::1]:80": "::1", "[::1]": "::1", "kb.example.": "kb.example", "": "", "a:b:c": "a:b:c"} {
		if got := hostName(host); got != want {
			t.Errorf("%s: %s", host, got)
		}
	}
}

func TestCodeOfError(t *testing.T) {
	for code, err := range map[int]error{404: fmt.Errorf("x: %w", overview.ErrUnknown), 403: &fs.PathError{Err: os.ErrPermission}, 503: errors.New("anything")} {
		if got := codeOf(err); got != code {
			t.Errorf("%v: %d", err, got)
		}
	}
}

// Between questions the server looks seldom.
func TestPause(t *testing.T) {
	s, err := New(Options{Overview: overview.Options{Examine: -1}})
	if err != nil {
		t.Fatal(err)
	}
	if s.pause() != idle*time.Second {
		t.Error("nobody watches")
	}
	s.asked.Store(time.Now().Unix())
	if s.pause() != time.Second {
		t.Error("somebody asked")
	}
	s.asked.Store(0)
	s.streams.Store(1)
	if s.pause() != time.Second {
		t.Error("somebody listens")
	}
}
