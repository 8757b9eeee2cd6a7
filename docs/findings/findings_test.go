package findings_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/solehold/solehold/docs/findings"
)

// Every page has its id, its title and the three parts.
func TestPages(t *testing.T) {
	t.Parallel()
	ids := findings.IDs()
	if len(ids) < 15 || !slices.IsSorted(ids) {
		t.Fatalf("%q", ids)
	}
	for _, id := range ids {
		page, ok := findings.Page(id)
		if !ok || !strings.HasPrefix(page, "# "+id+": ") || findings.Title(id) == "" {
			t.Errorf("%s: %q", id, page)
		}
		for _, part := range []string{"## What was seen", "## Why it matters", "## What to do"} {
			if strings.Count(page, part+"\n") != 1 {
				t.Errorf("%s: no %q", id, part)
			}
		}
	}
	if _, ok := findings.Page("SH999"); ok || findings.Title("SH999") != "" {
		t.Error("a page that is not there")
	}
}

// Every id in the sources of both doctors has a page, and every page is for such an id.
func TestEveryFindingHasAPage(t *testing.T) {
	t.Parallel()
	var files []string
	for _, dir := range []string{"../../internal/diagnose/doctor", "../../internal/clustercli"} {
		in, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(in) == 0 {
			t.Fatal(in, err)
		}
		files = append(files, in...)
	}
	used := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"(SH\d{3})"`).FindAllStringSubmatch(string(data), -1) {
			used[m[1]] = true
		}
	}
	for id := range used {
		if _, ok := findings.Page(id); !ok {
			t.Errorf("%s has no page", id)
		}
	}
	for _, id := range findings.IDs() {
		if !used[id] {
			t.Errorf("nothing finds %s", id)
		}
	}
}
