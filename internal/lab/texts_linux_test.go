package lab_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/lab"
)

const docs = "../../docs/lab"

// The pages are those of the experiments: none is old, none is missing, none is too many.
func TestPagesAreCurrent(t *testing.T) {
	t.Parallel()
	pages := lab.Pages(lab.All())
	entries, err := os.ReadDir(docs)
	must(t, err)
	var there []string
	for _, e := range entries {
		there = append(there, e.Name())
		text, err := os.ReadFile(filepath.Join(docs, e.Name()))
		must(t, err)
		if string(text) != pages[e.Name()] {
			t.Errorf("docs/lab/%s is not current: run make lab-pages", e.Name())
		}
	}
	if want := slices.Sorted(maps.Keys(pages)); !slices.Equal(there, want) {
		t.Errorf("pages %v, want %v: run make lab-pages", there, want)
	}
}

func TestPagesAreWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got := call(t, nil, "pages", dir); got.code != 0 {
		t.Errorf("code %d: %s", got.code, got.stderr)
	}
	for name, want := range lab.Pages(lab.All()) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		if string(text) != want {
			t.Errorf("%s is not the page", name)
		}
	}
	if got := call(t, nil, "pages", filepath.Join(dir, "no", "such")); got.code != 2 || !strings.Contains(got.stderr, "no such file") {
		t.Errorf("into no directory: code %d: %s", got.code, got.stderr)
	}
}

// A page says everything that a run prints, and a change of any text changes it.
func TestPage(t *testing.T) {
	t.Parallel()
	e := lab.Experiment{
		Name: "n", Title: "a title", Believed: "what is believed", Happens: strings.Repeat("long words ", 30), Advice: "what to do",
		Facts: []lab.Fact{{What: "a fact", Want: "so"}, {What: "a figure"}},
	}.Lacking("a tape drive", "buy one")
	pages := lab.Pages([]lab.Experiment{e})
	wantIn(t, pages["n.md"], "# n: a title\n", "what is believed", "what to do", "| a fact | so |\n", "| a figure | (differs from run to run) |\n", "It needs a tape drive.", "solehold lab n\n")
	wantIn(t, pages["README.md"], "| [`n`](n.md) | a title | a tape drive |")
	for line := range strings.Lines(pages["n.md"]) {
		if len(line) > 121 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

// Every experiment has its texts, asserts something, and speaks of other experiments only if they are there.
func TestTexts(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, e := range lab.All() {
		if names[e.Name] || !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(e.Name) {
			t.Errorf("the name %q", e.Name)
		}
		names[e.Name] = true
	}
	for _, e := range lab.All() {
		asserted, facts := 0, map[string]bool{}
		for _, f := range e.Facts {
			if f.Want != "" {
				asserted++
			}
			if facts[f.What] {
				t.Errorf("%s: %q is measured twice", e.Name, f.What)
			}
			facts[f.What] = true
		}
		if e.Title == "" || e.Believed == "" || e.Happens == "" || e.Advice == "" || asserted < 2 {
			t.Errorf("%s is not complete", e.Name)
		}
		for _, m := range regexp.MustCompile("see `([a-z0-9-]+)`").FindAllStringSubmatch(e.Happens+e.Advice, -1) {
			if !names[m[1]] {
				t.Errorf("%s speaks of %s, which is no experiment", e.Name, m[1])
			}
		}
		if strings.Contains(e.Believed+e.Happens+e.Advice, "\n") {
			t.Errorf("%s: texts are wrapped where they are shown", e.Name)
		}
	}
}

// What the issue and the field reports list is here.
func TestEveryClaimHasItsExperiment(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, e := range lab.All() {
		have[e.Name] = true
	}
	for claim, name := range map[string]string{
		"age-based removal": "age", "unlink on release": "unlink", "O_EXCL and rename": "rename", "inherited flock": "inherited",
		"POSIX close": "posix-close", "LOCK_UN in a child": "child-unlock", "one database over two mounts": "two-mounts",
		"pid file with reuse": "pid-reuse", "RemoveAll against a deferred Remove": "removeall", "deleted and mapped files": "deleted",
		"a non-blocking lock that blocks": "nonblocking", "garbage-collected lock": "garbage", "KillMode": "kill-mode",
		"EAGAIN is not 11": "eagain", "renewal by SET": "redis-set", "local fallback": "fallback",
		"flock after SIGKILL, POSIX until reuse": "kill9", "LockFile=": "lockfile-key", "finalizer of a mutex": "mutex", "LevelDB lacks a lock": "leveldb",
	} {
		if !have[name] {
			t.Errorf("%s: no experiment %s", claim, name)
		}
	}
}
