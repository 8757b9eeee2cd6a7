package hostmetrics_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/solehold/solehold"
	"github.com/solehold/solehold/docs/findings"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/hostmetrics"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/remote"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// told is what a look becomes.
func told(t *testing.T, h overview.Host) string {
	t.Helper()
	m, err := hostmetrics.New(func(context.Context) (overview.Host, []remote.Cluster) { return h, nil })
	must(t, err)
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	return "\n" + w.Body.String()
}

func has(t *testing.T, got string, lines ...string) {
	t.Helper()
	for _, want := range lines {
		if !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
}

func lacks(t *testing.T, got string, names ...string) {
	t.Helper()
	for _, name := range names {
		if strings.Contains(got, "\n"+name) {
			t.Errorf("%s is told", name)
		}
	}
}

// row makes a directory.
func row(path string, state solehold.State, change func(*overview.Directory)) overview.Directory {
	d := overview.Directory{Path: path, Report: diagnose.Report{Status: solehold.Status{Dir: "/seen/by/holder", State: state, Token: 7}}}
	if change != nil {
		change(&d)
	}
	return d
}

func TestDirectories(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0)
	got := told(t, overview.Host{At: at, LeftOut: 3, Directories: []overview.Directory{
		row("/held", solehold.Held, func(d *overview.Directory) {
			d.Owner = &solehold.Owner{PID: 1, Since: at.Add(-time.Hour)}
			d.Health = &journal.Pulse{State: "ready", Verdict: "slow", Time: at, Took: 0.25}
			d.Acquired, d.Refusals, d.Takeovers, d.Losses, d.Restarts, d.Recoveries, d.Incidents, d.Waiters = 1, 2, 3, 4, 5, 6, 7, 8
			d.HandOff = overview.Durations{Count: 2, Sum: 0.5, Buckets: [12]int{0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2}}
		}),
		row("/failing", solehold.Held, func(d *overview.Directory) { d.Health = &journal.Pulse{State: "ready", Verdict: "fail"} }),
		row("/sick", solehold.Held, func(d *overview.Directory) { d.Health = &journal.Pulse{State: "unhealthy", Verdict: "unknown"} }),
		row("/starting", solehold.Held, func(d *overview.Directory) { d.Health = &journal.Pulse{State: "starting", Verdict: "unknown"} }),
		row("/split", solehold.Split, nil),
		row("/detached", solehold.Detached, nil),
		row("/unguarded", solehold.Unguarded, nil),
		row("/crashed", solehold.Free, func(d *overview.Directory) {
			d.Record.Class, d.Record.PID, d.GaveUp = "stale", 4, at
		}),
		row("/new", solehold.Free, func(d *overview.Directory) { d.Record.Class, d.Record.Why = "stale", "empty" }),
		row("/hung", solehold.NotKnown, func(d *overview.Directory) {
			d.Problem = &overview.Problem{Kind: overview.Hung}
			d.Remote = &solehold.Cluster{Engine: "etcd"} // that nobody may ask the disk for
		}),
	}})
	has(t, got, `solehold_held{dir="/held"} 1`, `solehold_held{dir="/split"} 1`, `solehold_held{dir="/detached"} 1`,
		`solehold_held{dir="/unguarded"} 0`, `solehold_held{dir="/crashed"} 0`, `solehold_held{dir="/hung"} 0`,
		`solehold_state{dir="/unguarded",state="UNGUARDED"} 1`, `solehold_state{dir="/hung",state="UNKNOWN"} 1`,
		`solehold_held_since_timestamp_seconds{dir="/held"} 1.7999964e+09`, `solehold_token{dir="/held"} 7`,
		`solehold_acquisitions_total{dir="/held"} 1`, `solehold_refusals_total{dir="/held"} 2`, `solehold_takeovers_total{dir="/held"} 3`,
		`solehold_losses_total{dir="/held"} 4`, `solehold_restarts_total{dir="/held"} 5`, `solehold_recoveries_total{dir="/held"} 6`,
		`solehold_incidents{dir="/held"} 7`, `solehold_waiters{dir="/held"} 8`,
		`solehold_handoff_duration_seconds_bucket{dir="/held",le="0.01"} 1`, `solehold_handoff_duration_seconds_bucket{dir="/held",le="60"} 2`,
		`solehold_handoff_duration_seconds_count{dir="/held"} 2`, `solehold_handoff_duration_seconds_sum{dir="/held"} 0.5`,
		`solehold_healthy{dir="/held"} 1`, `solehold_probe_duration_seconds{dir="/held"} 0.25`,
		`solehold_healthy{dir="/failing"} 0`, `solehold_healthy{dir="/sick"} 0`, `solehold_healthy{dir="/starting"} 1`,
		`solehold_record_stale{dir="/crashed"} 1`, `solehold_record_stale{dir="/new"} 0`, `solehold_given_up{dir="/crashed"} 1`,
		`solehold_given_up{dir="/new"} 0`, `solehold_unreadable{dir="/hung"} 1`, `solehold_unreadable{dir="/held"} 0`,
		"solehold_directories 13", "solehold_directories_left_out 3", "solehold_look_timestamp_seconds 1.8e+09")
	if n := strings.Count(got, `{dir="/held"`); n != 68 { // and 4 of a lease: docs/metrics.md has the sum
		t.Errorf("%d series for a directory", n)
	}
	lacks(t, got, `solehold_healthy{dir="/split"}`, `solehold_held_since_timestamp_seconds{dir="/crashed"}`, "solehold_lease", "/seen/by/holder")
}

// Until doctor has looked nothing is said of what it may find; then each finding
// that there is a page for has its figure.
func TestFindings(t *testing.T) {
	t.Parallel()
	lacks(t, told(t, overview.Host{At: time.Now()}), "solehold_findings", "solehold_deleted")
	got := told(t, overview.Host{Examined: time.Now(), Doctor: doctor.Report{
		Findings: []doctor.Finding{{ID: "SH030"}, {ID: "SH030"}, {ID: "SH999"}},
		Gaps:     []doctor.Gap{{}, {}},
		Space:    []doctor.Space{{Files: 1, Bytes: 10}, {Files: 2, Bytes: 20}, {Files: 3, Bytes: 30, Memory: true}},
	}})
	has(t, got, `solehold_findings{id="SH030"} 2`, `solehold_findings{id="SH999"} 1`, "solehold_findings_gaps 2",
		`solehold_deleted_open_bytes{kind="disk"} 30`, `solehold_deleted_open_files{kind="disk"} 3`, `solehold_deleted_open_bytes{kind="memory"} 30`)
	if n := strings.Count(got, "\nsolehold_findings{"); n != len(findings.IDs())+1 {
		t.Errorf("%d findings", n)
	}
}

// The file is whole each time that somebody reads it, and gone at the end.
func TestKeepFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var looks atomic.Int64
	m, err := hostmetrics.New(func(context.Context) (overview.Host, []remote.Cluster) {
		h := overview.Host{At: time.Now()}
		for i := range 20 * (1 + looks.Add(1)%3) { // of another size each time
			h.Directories = append(h.Directories, row("/d/"+strings.Repeat("x", int(i)), solehold.Free, nil))
		}
		return h, nil
	})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	file := filepath.Join(dir, hostmetrics.FileName)
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := m.KeepFile(ctx, dir, time.Millisecond, func(err error) { t.Error(err) }); err != nil {
			t.Error(err)
		}
	})
	for read := 0; read < 30; {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) && read == 0 {
			runtime.Gosched()
			continue
		}
		must(t, err)
		families, err := new(expfmt.NewTextParser(model.UTF8Validation)).TextToMetricFamilies(strings.NewReader(string(text)))
		if err != nil || families["solehold_directories_left_out"] == nil || families["solehold_waiters"] == nil {
			cancel()
			t.Fatalf("half of it: %v\n%s", err, text)
		}
		read++
	}
	cancel()
	wait.Wait()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// The first write that fails is an error; of later ones it is said when they begin
// to fail, and it goes on.
func TestKeepFileFails(t *testing.T) {
	t.Parallel()
	m, err := hostmetrics.New(func(context.Context) (overview.Host, []remote.Cluster) { return overview.Host{}, nil })
	must(t, err)
	dir := filepath.Join(t.TempDir(), "text")
	if err := m.KeepFile(t.Context(), dir, time.Hour, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	must(t, os.Mkdir(dir, 0o755))
	ctx, cancel := context.WithCancel(t.Context())
	said, done := make(chan error, 100), make(chan error, 1)
	go func() { done <- m.KeepFile(ctx, dir, time.Millisecond, func(err error) { said <- err }) }()
	for range 2 {
		written(t, dir)
		must(t, os.Rename(dir, dir+"-gone"))
		if err := <-said; !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		must(t, os.Remove(filepath.Join(dir+"-gone", hostmetrics.FileName)))
		must(t, os.Rename(dir+"-gone", dir))
	}
	written(t, dir)
	cancel()
	if err := <-done; err != nil || len(said) > 0 {
		t.Errorf("%v, said it %d times more", err, len(said))
	}
}

// written waits until the file is there.
func written(t *testing.T, dir string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 60_000 {
		if _, err := os.Stat(filepath.Join(dir, hostmetrics.FileName)); err == nil {
			return
		}
		<-tick.C
	}
	t.Fatal("the file is not written")
}
