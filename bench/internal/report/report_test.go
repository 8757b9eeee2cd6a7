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
		Supervisors: []report.Supervisor{
			{
				Name: "solehold run --restart", Version: "1", Lives: true, Relaunched: 1, Doubles: []int{1, 2, 1},
				Left: report.Left{Service: 0, Ignorer: 1, Escapee: 1}, Stop: report.StopOf(3210*time.Millisecond, true), Frozen: report.StopOf(15*time.Second, false),
			},
			{Name: "broken", Error: "the service did not start"},
		},
		Costs: []report.Cost{
			{
				Name: "solehold run --restart", Pause: "1 s unless it said it is ready", Restart: &report.Figure{Median: 12_345_678, Max: 999_999_999, ShowMax: true},
				Idle: &report.Idle{Private: 123456, Anonymous: 12345, Wakeups: 1234, CPU: 60000},
			},
			{Name: "not measured at all"},
		},
		Partitions: []report.Partition{
			{
				Engine: "zookeeper", Name: "solehold run --cluster", Runs: 16,
				Told: report.SpreadOf([]float64{2, 1.5, 10.25}), Dead: report.SpreadOf([]float64{-1, 1}), Owned: report.SpreadOf([]float64{3.004}), Overlaps: 1,
			},
			{Engine: "etcd", Name: "a peer", Version: "v1", Runs: 16, Told: report.SpreadOf([]float64{-0.75})},
			{Engine: "etcd", Name: "broken", Error: "it does not start"},
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
	if strings.Contains(text, "not measured at all") {
		t.Errorf("a line without figures in\n%s", text)
	}
	for _, want := range []string{
		"2 x Some CPU", "6.18.44", "ext4", "889 us (1000 ms)", "12.3 ms (100 ms)", "0.01 .. 2345", "(something was left out)",
		"met          ratio kept", "1.40x", "missed       time not kept", "met          nothing wakes", "0 /s", "not measured no such row",
		"1,2,1", "0/1/1", "3.21 s", "not in 15 s", "broken", "the service did not start", "12.3 ms (1000 ms)", "123456 (12345) KiB", "60000 ms/min",
		"+1.50 +2.00 +10.25", "-1.00 +0.00 +1.00", "+3.00 +3.00 +3.00", "1 of 16", "-0.75 -0.75 -0.75    -   ", "(a peer: v1)", "it does not start",
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
	if row := got.Find("a/floor"); row == nil || row.Ratio.Pairs != 123456 || got.Targets[3].Figure != nil || got.Machine.CPUs != 2 ||
		got.Supervisors[0].Frozen.Ended || got.Costs[0].Idle.Private != 123456 || got.Costs[1].Idle != nil {
		t.Errorf("read back: %+v", got)
	}
}
