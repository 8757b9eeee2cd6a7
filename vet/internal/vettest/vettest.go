// Package vettest runs an analyzer on the package of its name below vet/testdata/src: reports are wanted where a comment
// says so and nowhere else, and fixes give the golden file. Lock libraries are there as bare names.
package vettest

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// Run checks a on its packages: the one of its name and those given.
func Run(t *testing.T, a *analysis.Analyzer, more ...string) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	analysistest.RunWithSuggestedFixes(t, dir, a, append([]string{a.Name}, more...)...)
}
