package exposition_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/solehold/solehold/internal/exposition"
)

// told is a collector of what one teller says of a host. A pedantic registry checks
// that each metric was described, and that no two are the same.
type told struct {
	host    exposition.Host
	program bool
}

func (c told) Describe(ch chan<- *prometheus.Desc) {
	if c.program {
		exposition.NewSet(nil).DescribeProgram(ch)
		return
	}
	exposition.NewSet(nil).DescribeServe(ch)
}

func (c told) Collect(ch chan<- prometheus.Metric) {
	if c.program {
		exposition.NewSet(nil).Program(c.host, ch)
		return
	}
	exposition.NewSet(nil).Serve(c.host, ch)
}

func gather(t *testing.T, c told) []*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(c); err != nil {
		t.Fatal(err)
	}
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func text(t *testing.T, c told) string {
	t.Helper()
	var b bytes.Buffer
	for _, f := range gather(t, c) {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// full has everything that can be told of one directory.
func full() exposition.Host {
	at := time.Unix(1_800_000_000, 500_000_000)
	d := exposition.Directory{
		Dir: "/srv/kb/data", State: "HELD", Held: true, Since: at.Add(-time.Hour), Token: 42, Waiters: 2, Incidents: 3,
		Probe: &exposition.Probe{Well: true, Time: at.Add(-time.Second), Took: 4 * time.Millisecond},
		Lease: &exposition.Lease{Margin: 7500 * time.Millisecond, TTL: 15 * time.Second},
		Counts: exposition.Counts{
			Acquisitions: 5, Refusals: 9, Takeovers: 1, Losses: 2, Restarts: 4, Recoveries: 6, Renewals: 100, EngineErrors: 7,
		},
	}
	bounds := []float64{0.01, 1}
	for _, s := range []float64{0.005, 0.5, 0.01, 30} {
		d.HandOff.Observe(s, bounds)
	}
	d.Acquire.Observe(-1, bounds) // a clock that went back
	return exposition.Host{
		At: at, Directories: []exposition.Directory{d}, Findings: map[string]int{"SH007": 1, "SH050": 0}, Gaps: 1,
		Disk: exposition.Room{Files: 2, Bytes: 1 << 30},
		Clusters: []exposition.Cluster{
			{Engine: "etcd://e1:2379/p", Up: true, LeftOut: 3, Locks: []exposition.ClusterLock{{Name: "kb", Held: true, Token: 7}, {Name: "kb"}, {Name: "free"}}},
			{Engine: "etcd://e1:2379/p"},
			{Engine: "etcd://e2:2379/p", Locks: []exposition.ClusterLock{{Name: "old", Held: true, Token: 1}}},
		},
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	got := text(t, told{host: full()})
	for _, want := range []string{
		`solehold_held{dir="/srv/kb/data"} 1`,
		`solehold_state{dir="/srv/kb/data",state="HELD"} 1`,
		`solehold_state{dir="/srv/kb/data",state="SPLIT"} 0`,
		`solehold_held_since_timestamp_seconds{dir="/srv/kb/data"} 1.7999964005e+09`,
		`solehold_token{dir="/srv/kb/data"} 42`,
		`solehold_waiters{dir="/srv/kb/data"} 2`,
		`solehold_cluster_up{cluster="etcd://e1:2379/p"} 1`,
		`solehold_cluster_up{cluster="etcd://e2:2379/p"} 0`,
		`solehold_cluster_locks{cluster="etcd://e1:2379/p"} 6`,
		`solehold_cluster_held{cluster="etcd://e1:2379/p",name="kb"} 1`,
		`solehold_cluster_held{cluster="etcd://e1:2379/p",name="free"} 0`,
		`solehold_cluster_token{cluster="etcd://e1:2379/p",name="kb"} 7`,
		`solehold_record_stale{dir="/srv/kb/data"} 0`,
		`solehold_acquisitions_total{dir="/srv/kb/data"} 5`,
		`solehold_refusals_total{dir="/srv/kb/data"} 9`,
		`solehold_takeovers_total{dir="/srv/kb/data"} 1`,
		`solehold_losses_total{dir="/srv/kb/data"} 2`,
		`solehold_restarts_total{dir="/srv/kb/data"} 4`,
		`solehold_recoveries_total{dir="/srv/kb/data"} 6`,
		`solehold_incidents{dir="/srv/kb/data"} 3`,
		`solehold_healthy{dir="/srv/kb/data"} 1`,
		`solehold_probe_duration_seconds{dir="/srv/kb/data"} 0.004`,
		`solehold_given_up{dir="/srv/kb/data"} 0`,
		`solehold_lease_margin_seconds{dir="/srv/kb/data"} 7.5`,
		`solehold_lease_ttl_seconds{dir="/srv/kb/data"} 15`,
		`solehold_lease_renewals_total{dir="/srv/kb/data"} 100`,
		`solehold_engine_errors_total{dir="/srv/kb/data"} 7`,
		`solehold_handoff_duration_seconds_bucket{dir="/srv/kb/data",le="0.01"} 2`,
		`solehold_handoff_duration_seconds_bucket{dir="/srv/kb/data",le="1"} 3`,
		`solehold_handoff_duration_seconds_bucket{dir="/srv/kb/data",le="+Inf"} 4`,
		`solehold_handoff_duration_seconds_sum{dir="/srv/kb/data"} 30.515`,
		`solehold_start_duration_seconds_count{dir="/srv/kb/data"} 0`,
		`solehold_findings{id="SH007"} 1`,
		`solehold_findings{id="SH050"} 0`,
		`solehold_findings_gaps 1`,
		`solehold_deleted_open_bytes{kind="disk"} 1.073741824e+09`,
		`solehold_deleted_open_files{kind="memory"} 0`,
		`solehold_directories 1`,
		`solehold_directories_left_out 0`,
		`solehold_look_timestamp_seconds 1.8000000005e+09`,
	} {
		if !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// A program tells no more than it knows.
func TestProgram(t *testing.T) {
	t.Parallel()
	got := text(t, told{full(), true})
	for _, family := range exposition.Families() {
		if is, want := strings.Contains(got, "\n"+family.Name), family.Teller != "serve"; is != want {
			t.Errorf("%s: told %t", family.Name, is)
		}
	}
	if !strings.Contains(got, `solehold_acquire_duration_seconds_bucket{dir="/srv/kb/data",le="0.01"} 1`) {
		t.Error(got)
	}
}

// What there is none of is not told as 0.
func TestAbsent(t *testing.T) {
	t.Parallel()
	free := exposition.Host{Directories: []exposition.Directory{{Dir: "/d", State: "FREE", Stale: true, GivenUp: true, Unreadable: true}}}
	got := text(t, told{host: free})
	for _, name := range []string{
		exposition.HeldSince, exposition.Token, exposition.Healthy, exposition.Probed, exposition.ProbeTime,
		exposition.LeaseMargin, exposition.LeaseTTL, exposition.Renewals, exposition.EngineErrors, exposition.Looked,
	} {
		if strings.Contains(got, "\n"+name) {
			t.Errorf("%s is told", name)
		}
	}
	for _, want := range []string{exposition.Held + `{dir="/d"} 0`, exposition.StaleRecord + `{dir="/d"} 1`, exposition.GivenUp + `{dir="/d"} 1`, exposition.Unreadable + `{dir="/d"} 1`, exposition.Restarts + `{dir="/d"} 0`} {
		if !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
}

// The number of series does not depend on how many directories there are, and who
// has an owner or is in danger is shown before the others.
func TestBounded(t *testing.T) {
	t.Parallel()
	var h exposition.Host
	for i := range 5000 {
		d := exposition.Directory{Dir: fmt.Sprintf("/d/%04d", i), State: "FREE"}
		switch {
		case i >= 4600 && i < 4900:
			d.State, d.Held = "HELD", true
		case i == 4990:
			d.State = "UNGUARDED"
		case i == 4999:
			d.Stale = true
		}
		h.Directories = append(h.Directories, d)
	}
	for _, most := range []int{0, 500} {
		h.Most = most
		got := text(t, told{host: h})
		if n := strings.Count(got, "\n"+exposition.Held+"{"); n != 500 {
			t.Errorf("%d directories are shown", n)
		}
		if n := strings.Count(got, exposition.Held+`{dir="/d/4`); n < 302 || !strings.Contains(got, "\n"+exposition.LeftOut+" 4500\n") || !strings.Contains(got, "\n"+exposition.Directories+" 5000\n") {
			t.Errorf("%d of the important ones are shown", n)
		}
	}
	before := text(t, told{host: h})
	slices.Reverse(h.Directories)
	if text(t, told{host: h}) != before {
		t.Error("it is not the same ones each time")
	}
}

// Paths are others' text. None of them may spoil the answer.
func TestHostilePaths(t *testing.T) {
	t.Parallel()
	paths := []string{
		"/a\nsolehold_held{dir=\"/b\"} 1", `/quote"`, `/back\slash`, "/tab\t\x00\x1b[31m", "/rtl\u202ekcab", "/bad\xff", `/bad\xff`, "/bad\xff\xfe",
		"/real\ufffd", "/" + strings.Repeat("é", 2000), "/same", "/same", "",
	}
	var h exposition.Host
	for _, p := range paths {
		h.Directories = append(h.Directories, exposition.Directory{Dir: p})
	}
	var shown []string
	for _, f := range gather(t, told{host: h}) {
		switch f.GetName() {
		case exposition.Held:
			for _, m := range f.Metric {
				shown = append(shown, m.Label[0].GetValue())
			}
		case exposition.LeftOut:
			if n := f.Metric[0].Gauge.GetValue(); n != 2 { // one of the same, one that reads the same
				t.Errorf("%v left out", n)
			}
		}
	}
	if len(shown) != len(paths)-2 || !slices.Contains(shown, `/bad\xff\xfe`) || !slices.Contains(shown, "/real\ufffd") {
		t.Errorf("%q", shown)
	}
	body := text(t, told{host: h})
	if n := len(regexp.MustCompile(`(?m)^solehold_held\{`).FindAllString(body, -1)); n != len(shown) {
		t.Errorf("%d lines for %d directories", n, len(shown))
	}
}

// The names keep to Prometheus' conventions.
func TestConventions(t *testing.T) {
	t.Parallel()
	for _, program := range []bool{false, true} {
		problems, err := promlint.NewWithMetricFamilies(gather(t, told{full(), program})).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("%v %v", problems, err)
		}
	}
	seen := map[string]bool{}
	for _, f := range exposition.Families() {
		if seen[f.Name] || !strings.HasPrefix(f.Name, "solehold_") || !strings.HasSuffix(f.Help, ".") || len(f.Labels) > 2 {
			t.Errorf("%+v", f)
		}
		seen[f.Name] = true
		if counter := strings.HasSuffix(f.Name, "_total"); counter != (f.Kind == exposition.Counter) {
			t.Errorf("%s is a %s", f.Name, f.Kind)
		}
	}
}

// The page lists what there is: each family with its type, labels, teller and
// meaning, and no other.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, f := range exposition.Families() {
		labels := "none"
		if len(f.Labels) > 0 {
			labels = "`" + strings.Join(f.Labels, "`, `") + "`"
		}
		want = append(want, fmt.Sprintf("| `%s` | %s | %s | %s | %s |", f.Name, f.Kind, labels, f.Teller, f.Help))
	}
	got := regexp.MustCompile("(?m)^\\| `solehold_.*$").FindAllString(string(page), -1)
	if !slices.Equal(got, want) {
		t.Errorf("docs/metrics.md has other rows than there are; want\n%s", strings.Join(want, "\n"))
	}
	for _, name := range regexp.MustCompile(`solehold_[a-z_]+`).FindAllString(string(page), -1) {
		if !slices.ContainsFunc(exposition.Families(), func(f exposition.Family) bool { return strings.HasPrefix(name, f.Name) }) {
			t.Errorf("the page speaks of %s", name)
		}
	}
}
