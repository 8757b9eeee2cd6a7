package locktrunc

import (
	_ "embed"
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"

	"github.com/solehold/solehold/vet/internal/check"
	"github.com/solehold/solehold/vet/internal/locks"
)

//go:embed doc.go
var doc string

// Analyzer makes the analyzer.
func Analyzer() *analysis.Analyzer { return check.New(doc, run) }

func run(p *check.Pass) {
	for _, l := range p.Locks() {
		for _, open := range l.Opens {
			if fixes, bad := truncates(p, open); bad {
				p.Found(analysis.Diagnostic{
					Pos: open.Pos(), End: open.End(),
					Message:        "the lock file is emptied before the lock (" + p.At(l.Call) + ") is held: a refused starter wipes out what the owner wrote; open without truncating",
					SuggestedFixes: fixes,
					Related:        []analysis.RelatedInformation{check.Mark(l.Call, "locked here")},
				})
			}
		}
	}
}

// truncates says whether the call empties the file it opens, and how to open it instead.
func truncates(p *check.Pass, open *locks.Call) ([]analysis.SuggestedFix, bool) {
	const what = "open without truncating"
	switch open.Name {
	case "os.Create":
		if sel, ok := open.Fun.(*ast.SelectorExpr); ok {
			os := p.Source(sel.X)
			return check.Replace(what, open, os+".OpenFile("+p.Source(open.Args[0])+", "+os+".O_RDWR|"+os+".O_CREATE, 0o666)"), true
		}
		return nil, true
	case "os.OpenFile", "sys.Open":
		flags, ok := open.Int(1)
		trunc, known := open.Const("O_TRUNC")
		if !ok || !known || flags&trunc == 0 {
			return nil, false
		}
		return without(p, open.Args[1], what), true
	}
	return nil, false
}

// without makes the fix that takes O_TRUNC out of a chain of flags.
func without(p *check.Pass, flags ast.Expr, what string) []analysis.SuggestedFix {
	or, ok := flags.(*ast.BinaryExpr)
	if !ok || or.Op != token.OR {
		return nil
	}
	switch {
	case isTrunc(or.Y):
		return check.Replace(what, or, p.Source(or.X))
	case isTrunc(or.X):
		return check.Replace(what, or, p.Source(or.Y))
	}
	return without(p, or.X, what)
}

func isTrunc(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "O_TRUNC"
}
