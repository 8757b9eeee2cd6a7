package locks

import (
	"go/ast"
	"strings"
)

// MayReturn says whether control can come back from the call.
func (x *Index) MayReturn(call *ast.CallExpr) bool {
	return !x.Exits(call) && !x.Panics(call)
}

// Exits says whether the call ends the process at once: no deferred call runs. A function of this package counts if
// it does so as its last act.
func (x *Index) Exits(call *ast.CallExpr) bool { return x.exits(call, 2) }

func (x *Index) exits(call *ast.CallExpr, depth int) bool {
	c := x.Call(call)
	if c == nil {
		return false
	}
	switch c.Name {
	case "os.Exit", "sys.Exit":
		return true
	}
	if pkg, fn, _ := strings.Cut(c.Name, "."); pkg == "log" && strings.HasPrefix(fn[strings.LastIndex(fn, ".")+1:], "Fatal") {
		return true
	}
	d := x.decls[c.Func]
	if d == nil || d.Body == nil || len(d.Body.List) == 0 || depth == 0 {
		return false
	}
	last, ok := d.Body.List[len(d.Body.List)-1].(*ast.ExprStmt)
	if !ok {
		return false
	}
	inner, ok := last.X.(*ast.CallExpr)
	return ok && !returnsEarly(d.Body) && x.exits(inner, depth-1)
}

func returnsEarly(body *ast.BlockStmt) bool {
	found := false
	Inside(body, func(n ast.Node) {
		if _, ok := n.(*ast.ReturnStmt); ok {
			found = true
		}
	})
	return found
}

// Panics says whether the call panics for sure: deferred calls run, later statements do not.
func (x *Index) Panics(call *ast.CallExpr) bool {
	if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" {
		return x.info.Uses[id] != nil && x.info.Uses[id].Pkg() == nil // the built-in one
	}
	c := x.Call(call)
	if c == nil {
		return false
	}
	pkg, fn, _ := strings.Cut(c.Name, ".")
	return pkg == "log" && strings.HasPrefix(fn[strings.LastIndex(fn, ".")+1:], "Panic")
}
