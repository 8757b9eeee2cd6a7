package lockexec

import (
	_ "embed"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"

	"github.com/solehold/solehold/vet/internal/check"
	"github.com/solehold/solehold/vet/internal/held"
	"github.com/solehold/solehold/vet/internal/locks"
)

//go:embed doc.go
var doc string

// Analyzer makes the analyzer.
func Analyzer() *analysis.Analyzer { return check.New(doc, run) }

func run(p *check.Pass) {
	if len(starts(p)) == 0 {
		return
	}
	for _, l := range p.Locks() {
		flow := held.New(p.Index, l)
		if flow == nil {
			continue
		}
		flow.Walk(func(n ast.Node, s held.State) {
			if s.Held {
				judge(p, l, n)
			}
		})
	}
}

func starts(p *check.Pass) []*locks.Call {
	return p.Calls("exec.Cmd.Run", "exec.Cmd.Start", "exec.Cmd.Output", "exec.Cmd.CombinedOutput")
}

// judge reports the commands that n starts.
func judge(p *check.Pass, l *locks.Lock, n ast.Node) {
	for _, c := range starts(p) {
		if n.Pos() <= c.Pos() && c.End() <= n.End() && c.Body() == l.Call.Body() && !planned(p, c) {
			p.Foundf(c, "the child outlives this process and goes on while the lock from %s is free again; set SysProcAttr, ExtraFiles or Cancel, or use solehold run", p.At(l.Call))
		}
	}
}

// planned says whether something is known to be done for the tree, or the command comes from elsewhere.
func planned(p *check.Pass, c *locks.Call) bool {
	recv := ast.Unparen(c.Recv())
	if made := p.Call(recv); made != nil {
		return !makes(made)
	}
	cmd := p.Root(recv)
	sources := p.Sources(cmd)
	if len(sources) != 1 || !makes(p.Call(sources[0].Expr)) {
		return true
	}
	return fieldSet(p, c.FuncDecl(), cmd)
}

func makes(c *locks.Call) bool {
	return c != nil && (c.Name == "exec.Command" || c.Name == "exec.CommandContext")
}

// fieldSet says whether the function sets a field of cmd that takes care of the tree, or hands cmd to somebody who may.
func fieldSet(p *check.Pass, d *ast.FuncDecl, cmd types.Object) bool {
	found := false
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if p.Root(n.X) == cmd && (n.Sel.Name == "SysProcAttr" || n.Sel.Name == "ExtraFiles" || n.Sel.Name == "Cancel") {
				found = true
			}
		case *ast.CallExpr:
			for _, a := range n.Args {
				if p.Root(a) == cmd {
					found = true
				}
			}
		}
		return !found
	})
	return found
}
