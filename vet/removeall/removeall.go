package removeall

import (
	_ "embed"
	"go/ast"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/solehold/solehold/vet/internal/check"
	"github.com/solehold/solehold/vet/internal/locks"
)

//go:embed doc.go
var doc string

// Analyzer makes the analyzer.
func Analyzer() *analysis.Analyzer { return check.New(doc, run) }

func run(p *check.Pass) {
	all := p.Calls("os.RemoveAll")
	if len(all) == 0 {
		return
	}
	for _, file := range p.Calls("os.Remove") {
		if !file.Deferred() {
			continue
		}
		for _, dir := range all {
			if dir.FuncDecl() == file.FuncDecl() && runsBefore(dir, file) && !private(p, dir.Args[0]) && within(p, file.Args[0], dir.Args[0]) {
				p.Found(analysis.Diagnostic{
					Pos: file.Pos(), End: file.End(),
					Message: "this runs after os.RemoveAll (" + p.At(dir) + ") has freed the directory, and may remove the file of whoever made it anew; remove once",
					Related: []analysis.RelatedInformation{check.Mark(dir, "removed with everything in it here")},
				})
			}
		}
	}
}

// runsBefore says whether dir is removed before the deferred removal of file: directly, or deferred later. Inside one
// deferred literal the order of the text counts.
func runsBefore(dir, file *locks.Call) bool {
	if dir.Body() == file.Body() && dir.Deferred() && isLit(dir.Body()) {
		return dir.Pos() < file.Pos()
	}
	return !dir.Deferred() || dir.Pos() > file.Pos()
}

func isLit(n ast.Node) bool {
	_, ok := n.(*ast.FuncLit)
	return ok
}

// within says whether file is dir, or a name joined to it.
func within(p *check.Pass, file, dir ast.Expr) bool {
	d, f := p.Key(dir), p.Key(file)
	return d != "" && (f == d || strings.HasPrefix(f, "join("+d+","))
}

// private says whether the directory was just made under a name that nobody else has.
func private(p *check.Pass, dir ast.Expr) bool {
	for _, s := range p.Sources(p.Root(dir)) {
		if c := p.Call(s.Expr); c != nil && c.Name == "os.MkdirTemp" {
			return true
		}
	}
	return false
}
