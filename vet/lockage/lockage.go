package lockage

import (
	_ "embed"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"

	"github.com/solehold/solehold/vet/internal/check"
	"github.com/solehold/solehold/vet/internal/locks"
)

//go:embed doc.go
var doc string

// Analyzer makes the analyzer.
func Analyzer() *analysis.Analyzer { return check.New(doc, run) }

func run(p *check.Pass) {
	for _, c := range p.Calls("time.Since", "time.Time.Sub", "time.Time.Before", "time.Time.After") {
		if path := aged(p, c); path != nil && isLock(p, path) {
			p.Foundf(c, "a lock is judged by the age of %s: a live owner need not touch it, and taking over makes two; ask for the lock instead", p.Source(path))
		}
	}
}

func isLock(p *check.Pass, path ast.Expr) bool {
	return p.LockNamed(path) || p.PidNamed(path) || p.OnLock(path) != nil
}

// aged gives the path of the file whose time of modification is compared by c, or nil.
func aged(p *check.Pass, c *locks.Call) ast.Expr {
	var path ast.Expr
	look := func(e ast.Expr) {
		ast.Inspect(e, func(n ast.Node) bool {
			if m, ok := n.(*ast.CallExpr); ok && path == nil {
				path = modTime(p, m)
			}
			return path == nil
		})
		if path == nil {
			if m, ok := ast.Unparen(p.Follow(e)).(*ast.CallExpr); ok {
				path = modTime(p, m) // t := fi.ModTime()
			}
		}
	}
	if recv := c.Recv(); recv != nil {
		look(recv)
	}
	for _, a := range c.Args {
		look(a)
	}
	return path
}

// modTime gives the path whose information m takes the time from, or nil where m is another call.
func modTime(p *check.Pass, m *ast.CallExpr) ast.Expr {
	s, ok := m.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != "ModTime" {
		return nil
	}
	return statted(p, p.Root(s.X))
}

// statted gives the path of the os.Stat that gave the variable its value.
func statted(p *check.Pass, info types.Object) ast.Expr {
	for _, s := range p.Sources(info) {
		c := p.Call(s.Expr)
		if c == nil {
			continue
		}
		switch c.Name {
		case "os.Stat", "os.Lstat":
			return c.Args[0]
		case "os.File.Stat":
			if o := p.Openers(p.Root(c.Recv())); len(o) == 1 {
				return o[0].Path()
			}
		}
	}
	return nil
}
