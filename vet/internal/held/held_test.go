package held_test

import (
	"go/ast"
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/solehold/solehold/vet/internal/held"
	"github.com/solehold/solehold/vet/internal/locks"
)

// TestStates reports at each statement here() what is known about the lock of its function.
func TestStates(t *testing.T) {
	dir, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	analysistest.Run(t, dir, &analysis.Analyzer{
		Name: "states", Doc: "tells where a lock is held", Requires: []*analysis.Analyzer{locks.Analyzer},
		Run: func(p *analysis.Pass) (any, error) {
			x := p.ResultOf[locks.Analyzer].(*locks.Index)
			for _, l := range x.Locks() {
				if flow := held.New(x, l); flow != nil {
					flow.Walk(func(n ast.Node, s held.State) { tell(p, n, s) })
				}
			}
			return nil, nil
		},
	}, "held")
}

func tell(p *analysis.Pass, n ast.Node, s held.State) {
	stmt, ok := n.(*ast.ExprStmt)
	if !ok {
		return
	}
	call, ok := stmt.X.(*ast.CallExpr)
	if !ok {
		return
	}
	if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "here" {
		p.Reportf(call.Pos(), "held %t deferred %t", s.Held, s.Deferred)
	}
}
