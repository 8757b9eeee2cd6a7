package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

// promtool runs it.
func promtool(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := exec.Command(testneed.Program(t, "promtool", "apt-get install prometheus"), args...).CombinedOutput()
	return string(out), err
}

// alertNames lists the alerts of the rule file.
func alertNames(t *testing.T) (names []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^      - alert: (\w+)$`).FindAllStringSubmatch(read(t, "prometheus/alerts.yml"), -1) {
		names = append(names, m[1])
	}
	return names
}

func TestRules(t *testing.T) {
	t.Parallel()
	if out, err := promtool(t, "check", "rules", "prometheus/alerts.yml"); err != nil || !strings.Contains(out, "8 rules found") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := promtool(t, "test", "rules", "prometheus/alerts_test.yml"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Each alert says what it is, what it means and what to do, and has its section on
// a page. What that names is there.
func TestAlertsAreExplained(t *testing.T) {
	t.Parallel()
	text, page, tests := read(t, "prometheus/alerts.yml"), read(t, "../docs/alerts.md"), read(t, "prometheus/alerts_test.yml")
	parts := strings.Split(text, "      - alert: ")[1:]
	if len(parts) != len(alertNames(t)) {
		t.Fatalf("%d alerts", len(parts))
	}
	for _, part := range parts {
		name, _, _ := strings.Cut(part, "\n")
		for _, want := range []string{"          severity: ", "          summary: ", "          description: ", "docs/alerts.md#" + strings.ToLower(name) + "\n", "solehold "} {
			if !strings.Contains(part, want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
		for _, want := range []string{"\n## " + name + "\n\n**Seen.** "} {
			if !strings.Contains(page, want) {
				t.Errorf("docs/alerts.md has no %q", want)
			}
		}
		if !strings.Contains(tests, `alertname="`+name+`"`) {
			t.Errorf("no test fires %s", name)
		}
	}
	if n := strings.Count(page, "\n## "); n != len(parts) {
		t.Errorf("%d sections for %d alerts", n, len(parts))
	}
	for _, link := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.Join("../docs", link[1])); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(text, "etcdctl endpoint status --cluster") {
		t.Error("leader changes: the command that diagnoses them is not said")
	}
}

// The tests of the rules see each of these mistakes.
func TestRulesTestsAreSharp(t *testing.T) {
	t.Parallel()
	rules := read(t, "prometheus/alerts.yml")
	for name, change := range map[string][2]string{
		"two owners: another state":       {`"SPLIT|UNGUARDED"`, `"HELD"`},
		"two owners: another finding":     {"SH021|SH030", "SH006|SH030"},
		"two owners: at once":             {"for: 30s", "for: 0s"},
		"held: without waiters":           {"(solehold_waiters > 0)", "(solehold_waiters >= 0)"},
		"held: at once":                   {"> 3600", "> 36000"},
		"held: no limit":                  {`{id="SH001"}`, `{id="SH002"}`},
		"unhealthy: nobody refused":       {"(increase(solehold_refusals_total[10m]) > 0)", "(increase(solehold_refusals_total[10m]) >= 0)"},
		"unhealthy: the well":             {"(solehold_healthy == 0)", "(solehold_healthy == 1)"},
		"gave up: never":                  {"solehold_given_up == 1", "solehold_given_up == 2"},
		"lease: too late":                 {"0.25 * solehold_lease_ttl", "0.1 * solehold_lease_ttl"},
		"lease: always":                   {"0.25 * solehold_lease_ttl", "0.7 * solehold_lease_ttl"},
		"lease: only the newest":          {"min_over_time(solehold_lease_margin_seconds[1m])", "solehold_lease_margin_seconds"},
		"deleted: memory":                 {`{kind="disk"}`, `{kind="memory"}`},
		"deleted: at a tenth":             {"> 1073741824", "> 107374182"},
		"stale: never":                    {"solehold_record_stale == 1", "solehold_record_stale == 2"},
		"leader: of all members together": {"max by (job) (increase(etcd_server_leader_changes_seen_total[15m])) > 5", "max by (job) (increase(etcd_server_leader_changes_seen_total[15m])) > 500"},
		"leader: a few":                   {"[15m])) > 5", "[15m])) > 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(rules, change[0]) {
				t.Fatalf("there is no %q to change", change[0])
			}
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "alerts.yml"), []byte(strings.Replace(rules, change[0], change[1], 1)), 0o600))
			must(t, os.WriteFile(filepath.Join(dir, "alerts_test.yml"), []byte(read(t, "prometheus/alerts_test.yml")), 0o600))
			if out, err := promtool(t, "test", "rules", filepath.Join(dir, "alerts_test.yml")); err == nil || !strings.Contains(out, "FAILED") {
				t.Errorf("not seen: %s", out)
			}
		})
	}
}

// The page of this directory names each file in it.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme := read(t, "README.md")
	for _, pattern := range []string{"prometheus/*.yml", "grafana/*.json"} {
		files, err := filepath.Glob(pattern)
		must(t, err)
		for _, f := range files {
			if !strings.Contains(readme, "`"+f+"`") {
				t.Errorf("README.md does not name %s", f)
			}
		}
	}
	if names := alertNames(t); slices.ContainsFunc(names, func(n string) bool { return !strings.Contains(readme, n) }) {
		t.Errorf("README.md does not name each of %v", names)
	}
}
