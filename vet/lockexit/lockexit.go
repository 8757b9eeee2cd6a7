package lockexit

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
	for _, l := range p.Locks() {
		flow := held.New(p.Index, l)
		if flow == nil {
			continue
		}
		flow.Walk(func(n ast.Node, s held.State) {
			if s.Held {
				judge(p, l, n, s)
			}
		})
	}
}

// judge looks for the end of the process in n, before which the lock l is held.
func judge(p *check.Pass, l *locks.Lock, n ast.Node, s held.State) {
	if g, ok := n.(*ast.GoStmt); ok {
		if body := started(p, l, g.Call); body != nil && s.Deferred && !releases(p, l, body) {
			exits(p, l, body)
		}
		return
	}
	if _, ok := n.(*ast.DeferStmt); ok {
		return
	}
	if s.Deferred || l.Leaves {
		exits(p, l, n)
	}
	if !s.Deferred && l.Carrier != nil && releases(p, l, l.Call.Body()) {
		panics(p, l, n)
	}
}

// started gives the body of what a go statement starts: a literal, or a function of this package that is given neither
// the lock nor a function, which may release it.
func started(p *check.Pass, l *locks.Lock, call *ast.CallExpr) *ast.BlockStmt {
	if lit, ok := call.Fun.(*ast.FuncLit); ok {
		return lit.Body
	}
	c := p.Call(call)
	if c == nil || c.Func.Signature().Recv() != nil {
		return nil
	}
	for _, arg := range call.Args {
		_, function := p.Info().TypeOf(arg).Underlying().(*types.Signature)
		if function || p.Mentions(arg, l.Carrier) {
			return nil
		}
	}
	if d := p.Decl(c.Func); d != nil {
		return d.Body
	}
	return nil
}

// exits reports the calls in n that end the process.
func exits(p *check.Pass, l *locks.Lock, n ast.Node) {
	locks.Inside(n, func(n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || !p.Exits(call) {
			return
		}
		what := "its deferred release does not run"
		if l.Leaves {
			what = "its lock file stays behind"
		}
		p.Found(analysis.Diagnostic{
			Pos: call.Pos(), End: call.End(),
			Message: "the process ends here with the lock from " + p.At(l.Call) + " held, and " + what + "; return an error or a code to main instead",
			Related: []analysis.RelatedInformation{check.Mark(l.Call, "locked here")},
		})
	})
}

// panics reports the panics in n.
func panics(p *check.Pass, l *locks.Lock, n ast.Node) {
	locks.Inside(n, func(n ast.Node) {
		if call, ok := n.(*ast.CallExpr); ok && p.Panics(call) {
			p.Foundf(call, "this panic skips the release of the lock from %s, and where it is recovered the lock stays held; defer the release", p.At(l.Call))
		}
	})
}

// releases says whether the lock is let go somewhere in n.
func releases(p *check.Pass, l *locks.Lock, n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && p.Releases(call, l.Carrier) {
			found = true
		}
		return !found
	})
	return found
}
