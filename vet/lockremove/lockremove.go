package lockremove

import (
	_ "embed"
	"go/ast"

	"golang.org/x/tools/go/analysis"

	"github.com/solehold/solehold/vet/internal/check"
	"github.com/solehold/solehold/vet/internal/locks"
)

//go:embed doc.go
var doc string

// Analyzer makes the analyzer.
func Analyzer() *analysis.Analyzer { return check.New(doc, run) }

func run(p *check.Pass) {
	calls := p.Calls("os.Remove", "os.Rename", "sys.Unlink", "sys.Rename", "os.RemoveAll")
	if len(calls) == 0 || len(p.Locks()) == 0 || looksAgain(p) {
		return
	}
	for _, c := range calls {
		for _, arg := range c.Args {
			if l := p.OnLock(arg); l != nil && l.Creates() {
				report(p, c, l)
			}
		}
	}
}

// looksAgain says whether the package compares what it has locked with what is at the path.
func looksAgain(p *check.Pass) bool {
	if len(p.Calls("os.SameFile")) > 0 {
		return true
	}
	for id := range p.TypesInfo.Uses {
		if id.Name == "Nlink" || id.Name == "Ino" {
			return true
		}
	}
	return false
}

func report(p *check.Pass, c *locks.Call, l *locks.Lock) {
	verb := "removed"
	if len(c.Args) == 2 {
		verb = "renamed"
	}
	d := analysis.Diagnostic{
		Pos: c.Pos(), End: c.End(),
		Message: "the lock file (locked at " + p.At(l.Call) + ") is " + verb + ": who has opened it before locks the old file, who comes after a new one, and both own; leave it in place",
		Related: []analysis.RelatedInformation{check.Mark(l.Call, "locked here")},
	}
	if stmt := statement(c); stmt != nil && verb == "removed" {
		d.SuggestedFixes = check.Replace("leave the lock file in place", stmt, "")
	}
	p.Found(d)
}

// statement gives the statement that is nothing but the call.
func statement(c *locks.Call) ast.Stmt {
	switch s := c.Parent().(type) {
	case *ast.ExprStmt:
		return s
	case *ast.DeferStmt:
		return s
	case *ast.AssignStmt:
		if c.Ignored(0) {
			return s
		}
	}
	return nil
}
