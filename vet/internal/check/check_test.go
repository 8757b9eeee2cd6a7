package check_test

import (
	"go/ast"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/solehold/solehold/vet/internal/check"
)

const doc = `// Package bad reports functions called bad.
//
// WRONG
//
//	func bad() {}
package bad
`

// bad reports each function called bad, twice.
func bad() *analysis.Analyzer {
	return check.New(doc, func(p *check.Pass) {
		for fn, d := range p.Decls() {
			if strings.HasPrefix(fn.Name(), "bad") {
				p.Foundf(d.Name, "%s at %s", p.Source(d.Name), p.At(d.Name))
				p.Found(analysis.Diagnostic{
					Pos: d.Name.Pos(), Message: "again",
					SuggestedFixes: check.Replace("rename", d.Name, "good"),
					Related:        []analysis.RelatedInformation{check.Mark(ast.Node(d), "here")},
				})
			}
		}
	})
}

func TestTextBecomesHelp(t *testing.T) {
	a := bad()
	if a.Name != "bad" || a.Doc != "bad: reports functions called bad.\n\nWRONG\n\n\tfunc bad() {}" {
		t.Errorf("%s: %q", a.Name, a.Doc)
	}
	if err := analysis.Validate([]*analysis.Analyzer{a}); err != nil {
		t.Error(err)
	}
}

// TestFindings wants one report for each place, none in test files, and none where a comment gives a reason.
func TestFindings(t *testing.T) {
	dir, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range analysistest.Run(t, dir, bad(), "allowed") {
		for _, d := range r.Diagnostics {
			if d.Category != "bad" {
				t.Errorf("category %q", d.Category)
			}
		}
	}
}
