package deploy_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/exposition"
)

// dashboard is what of a dashboard the tests look at.
type dashboard struct {
	UID, Title, Description string
	SchemaVersion           int
	Templating              struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []struct {
		ID                       int
		Type, Title, Description string
		GridPos                  struct{ H, W, X, Y int }
		Targets                  []struct{ Expr string }
	}
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob("grafana/*.json")
	must(t, err)
	all := map[string]dashboard{}
	for _, f := range files {
		var d dashboard
		must(t, json.Unmarshal([]byte(read(t, f)), &d))
		all[filepath.Base(f)] = d
	}
	if len(all) != 2 {
		t.Fatalf("%d dashboards", len(all))
	}
	return all
}

// queries are what a dashboard asks Prometheus, with its variables filled in.
func (d dashboard) queries() (all []string) {
	fill := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$dir", ".*", "$etcd", ".*", "$zookeeper", ".*", "$redis", ".*", "$postgres", ".*")
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			all = append(all, fill.Replace(q.Expr))
		}
	}
	return all
}

// metricsIn gives the names of the metrics in a query: the words that are no
// function, keyword, label or text.
func metricsIn(query string) (names []string) {
	query = regexp.MustCompile(`\{[^}]*\}|\[[^]]*\]|"[^"]*"|\b(by|on|without|ignoring)\s*\([^)]*\)`).ReplaceAllString(query, " ")
	for _, at := range regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`).FindAllStringIndex(query, -1) {
		word := query[at[0]:at[1]]
		if strings.HasPrefix(strings.TrimSpace(query[at[1]:]), "(") || slices.Contains([]string{"and", "or", "unless", "bool"}, word) || at[0] > 0 && query[at[0]-1] >= '0' && query[at[0]-1] <= '9' {
			continue
		}
		names = append(names, word)
	}
	return names
}

func TestMetricsIn(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][]string{
		`up`: {"up"},
		`histogram_quantile(0.9, sum by (le, To) (rate(a_bucket{x="b_total"}[5m])))`: {"a_bucket"},
		`time() - a_seconds > 1e3 and on (dir) (b > 0) or vector(0)`:                 {"a_seconds", "b"},
		`count(x == 0) / 2`: {"x"},
	} {
		if got := metricsIn(query); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// known are the names of all metrics that a query may name: ours from the code that
// tells them, the exporters' and ZooKeeper's as they told them when they were
// asked: exporters_linux_test.go asks them again. etcd is asked by TestEtcdTellsThem.
func known(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, f := range exposition.Families() {
		all[f.Name] = true
		if f.Kind == exposition.Histogram {
			delete(all, f.Name)
			all[f.Name+"_bucket"], all[f.Name+"_sum"], all[f.Name+"_count"] = true, true, true
		}
	}
	files, err := filepath.Glob("testdata/*.txt")
	must(t, err)
	for _, f := range files {
		for name := range strings.Lines(read(t, f)) {
			all[strings.TrimSpace(name)] = true
		}
	}
	return all
}

// Every query names what there is.
func TestQueries(t *testing.T) {
	t.Parallel()
	names := known(t)
	used := map[string]bool{}
	check := func(where, query string) {
		found := metricsIn(query)
		if len(found) == 0 {
			t.Errorf("%s names no metric: %s", where, query)
		}
		for _, name := range found {
			used[name] = true
			if !names[name] && !strings.HasPrefix(name, "etcd_") {
				t.Errorf("%s: nobody tells %s", where, name)
			}
		}
	}
	for file, d := range dashboards(t) {
		for _, q := range d.queries() {
			check(file, q)
		}
		for _, v := range d.Templating.List {
			if inner, ok := strings.CutPrefix(v.Definition, "label_values("); ok {
				check(file, strings.Split(inner, ",")[0])
			}
		}
	}
	for name := range names {
		if base := strings.TrimSuffix(name, "_bucket"); strings.HasPrefix(name, "solehold_") && !used[name] && !strings.HasSuffix(name, "_sum") && !strings.HasSuffix(name, "_count") {
			t.Errorf("no panel shows %s", base)
		}
	}
}

// Prometheus reads every query.
func TestQueriesParse(t *testing.T) {
	t.Parallel()
	var rules strings.Builder
	rules.WriteString("groups:\n  - name: queries\n    rules:\n")
	n := 0
	for _, d := range dashboards(t) {
		for _, q := range d.queries() {
			n++
			text, err := json.Marshal(q)
			must(t, err)
			fmt.Fprintf(&rules, "      - {record: 'query:%d', expr: %s}\n", n, text)
		}
	}
	file := filepath.Join(t.TempDir(), "queries.yml")
	must(t, os.WriteFile(file, []byte(rules.String()), 0o600))
	if out, err := promtool(t, "check", "rules", file); err != nil || !strings.Contains(out, fmt.Sprintf("%d rules found", n)) {
		t.Errorf("%v\n%s", err, out)
	}
}

// The panels are explained, and do not lie on each other.
func TestPanels(t *testing.T) {
	t.Parallel()
	uids := map[string]bool{}
	for file, d := range dashboards(t) {
		uids[d.UID] = true
		if d.UID == "" || d.Title == "" || d.Description == "" || d.SchemaVersion < 30 {
			t.Errorf("%s: %q %q %d", file, d.UID, d.Title, d.SchemaVersion)
		}
		ids, taken := map[int]bool{}, map[[2]int]string{}
		for _, p := range d.Panels {
			if ids[p.ID] || p.Title == "" || p.Type != "row" && (p.Description == "" || len(p.Targets) == 0) {
				t.Errorf("%s: %+v", file, p)
			}
			ids[p.ID] = true
			if p.GridPos.X+p.GridPos.W > 24 {
				t.Errorf("%s: %s is too far right", file, p.Title)
			}
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" {
						t.Fatalf("%s: %s lies on %s", file, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
		}
	}
	if len(uids) != 2 {
		t.Errorf("uids: %v", slices.Collect(maps.Keys(uids)))
	}
}
