package locks

import (
	"go/ast"
	"go/types"
)

// Escapes says whether body uses the variable v in a way that may keep its value alive elsewhere: anything but its own
// methods, comparisons, new values, deferred functions, and the calls that harmless accepts.
func (x *Index) Escapes(body *ast.BlockStmt, v types.Object, harmless func(*ast.CallExpr) bool) bool {
	found := false
	stack := []ast.Node{nil, nil}
	ast.Inspect(body, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if id, ok := n.(*ast.Ident); ok && x.info.Uses[id] == v && !plain(stack, id, harmless) {
			found = true
		}
		stack = append(stack, n)
		return true
	})
	return found
}

// plain says whether the use of id below stack leaves nothing behind that keeps the value alive.
func plain(stack []ast.Node, id *ast.Ident, harmless func(*ast.CallExpr) bool) bool {
	if inClosure(stack) {
		return false
	}
	switch parent := stack[len(stack)-1].(type) {
	case *ast.SelectorExpr:
		call, ok := stack[len(stack)-2].(*ast.CallExpr)
		return ok && call.Fun == parent // a method value would keep it
	case *ast.BinaryExpr, *ast.IndexExpr, *ast.RangeStmt:
		return true
	case *ast.AssignStmt:
		return onLeft(parent, id) || blankOnly(parent)
	case *ast.CallExpr:
		return parent.Fun != ast.Expr(id) && harmless(parent)
	}
	return false
}

// inClosure says whether stack goes through a function literal that is not simply deferred.
func inClosure(stack []ast.Node) bool {
	for i, n := range stack {
		if _, ok := n.(*ast.FuncLit); !ok {
			continue
		}
		if _, ok := stack[i-2].(*ast.DeferStmt); !ok {
			return true
		}
	}
	return false
}

func onLeft(a *ast.AssignStmt, id *ast.Ident) bool {
	for _, l := range a.Lhs {
		if l == ast.Expr(id) {
			return true
		}
	}
	return false
}

func blankOnly(a *ast.AssignStmt) bool {
	for _, l := range a.Lhs {
		if id, ok := l.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}
