package pidalive

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/solehold/solehold/vet/internal/check"
	"github.com/solehold/solehold/vet/internal/locks"
)

// existence reports a start that is refused because a pid file is there.
func existence(p *check.Pass) {
	for _, c := range p.Calls("os.Stat", "os.Lstat") {
		cond, ok := locks.Enclosing[*ast.IfStmt](c)
		if ok && p.PidNamed(c.Args[0]) && isNil(p, cond.Cond, c.Result(1)) && refuses(p, cond.Body) {
			p.Foundf(c, "the pid file outlives its owner: that it is there does not mean that somebody runs; ask for a lock")
		}
	}
}

// isNil says whether cond is err == nil.
func isNil(p *check.Pass, cond ast.Expr, err types.Object) bool {
	b, ok := cond.(*ast.BinaryExpr)
	return ok && err != nil && b.Op == token.EQL && p.Root(b.X) == err && p.TypesInfo.Types[b.Y].IsNil()
}

// refuses says whether the block ends the process, or returns an error that is made there.
func refuses(p *check.Pass, body *ast.BlockStmt) bool {
	if len(body.List) == 0 {
		return false
	}
	switch last := body.List[len(body.List)-1].(type) {
	case *ast.ExprStmt:
		call, ok := last.X.(*ast.CallExpr)
		return ok && !p.MayReturn(call)
	case *ast.ReturnStmt:
		for _, r := range last.Results {
			t := p.TypesInfo.TypeOf(r)
			if t != nil && !p.TypesInfo.Types[r].IsNil() && types.Implements(t, types.Universe.Lookup("error").Type().Underlying().(*types.Interface)) {
				return true
			}
		}
	}
	return false
}
