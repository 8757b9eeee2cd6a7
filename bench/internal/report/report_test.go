package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/bench/internal/report"
	"github.com/solehold/solehold/bench/internal/turn"
)

func sample() *report.Report {
	r := &report.Report{
		Machine: report.Machine{
			CPU: "Some CPU of 3000 MHz", CPUs: 2, Kernel: "6.18.44", Go: "go1.26.8", Filesystem: "ext4", Dir: "/tmp/x", Load: "0.10",
			Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		},
		Groups: []*report.Group{{
			Title: "1 group", Notes: []string{"something was left out"},
			Rows: []report.Row{
				{
					Key: "a/floor", What: strings.Repeat("n", 48), Unit: "ns", Ours: report.Figure{Median: 888_888, Max: 999_999_999, ShowMax: true},
					Other: &report.Figure{Median: 12_345_678, Max: 99_999_999, ShowMax: true}, Ratio: &turn.Ratio{Median: 1.4, Min: 0.012, Max: 2345, Pairs: 123456},
				},
				{Key: "a/idle", What: "wake-ups", Unit: "/s", Ours: report.Figure{Median: 0}},
			},
		}},
	}
	r.Judge([]report.Target{
		{Text: "ratio kept", Limit: 1.5, Row: "a/floor", Ratio: true},
		{Text: "time not kept", Limit: 1000, Row: "a/floor"},
		{Text: "nothing wakes", Limit: 0, Row: "a/idle"},
		{Text: "no such row", Limit: 1, Row: "b"},
	})
	return r
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	if err := sample().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, l := range strings.Split(text, "\n") {
		if len(l) > 120 {
			t.Errorf("%d columns: %s", len(l), l)
		}
	}
	for _, want := range []string{
		"2 x Some CPU", "6.18.44", "ext4", "889 us (1000 ms)", "12.3 ms (100 ms)", "0.01 .. 2345", "(something was left out)",
		"met          ratio kept", "1.40x", "missed       time not kept", "met          nothing wakes", "0 /s", "not measured no such row",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := sample().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got report.Report
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if row := got.Find("a/floor"); row == nil || row.Ratio.Pairs != 123456 || got.Targets[3].Figure != nil || got.Machine.CPUs != 2 {
		t.Errorf("read back: %+v", got)
	}
}
