package locks

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Source is one place that gives a variable its value.
type Source struct {
	// Expr is the value, or the call one of whose results it is; nil for a value that cannot be followed.
	Expr ast.Expr
	// Result is the number of the result where Expr is a call with several.
	Result int
}

// Sources gives the places that give the variable v its value. A parameter that is never set has none; one that is has
// its argument beside, which cannot be followed.
func (x *Index) Sources(v types.Object) []Source {
	s := x.sources()[v]
	if p, ok := v.(*types.Var); ok && len(s) > 0 && (p.Kind() == types.ParamVar || p.Kind() == types.RecvVar) {
		return append(s[:len(s):len(s)], Source{})
	}
	return s
}

func (x *Index) findSources() map[types.Object][]Source {
	all := map[types.Object][]Source{}
	put := func(to ast.Expr, s Source) {
		if v := x.Root(to); v != nil {
			all[v] = append(all[v], s)
		}
	}
	for cur := range x.root.Preorder((*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil), (*ast.KeyValueExpr)(nil), (*ast.UnaryExpr)(nil), (*ast.RangeStmt)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.AssignStmt:
			assign(n.Lhs, n.Rhs, put)
			if n.Tok != token.ASSIGN && n.Tok != token.DEFINE {
				put(n.Lhs[0], Source{}) // += and the like
			}
		case *ast.ValueSpec:
			left := make([]ast.Expr, len(n.Names))
			for i, id := range n.Names {
				left[i] = id
			}
			assign(left, n.Values, put)
		case *ast.KeyValueExpr:
			if v, ok := x.Root(n.Key).(*types.Var); ok && v.IsField() { // the key of a struct, not of a map
				put(n.Key, Source{Expr: n.Value})
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				put(n.X, Source{}) // whoever has the address may write
			}
		case *ast.RangeStmt:
			put(n.Key, Source{})
			put(n.Value, Source{})
		}
	}
	return all
}

func assign(left, right []ast.Expr, put func(ast.Expr, Source)) {
	for i, l := range left {
		switch {
		case len(left) == len(right):
			put(l, Source{Expr: right[i]})
		case len(right) == 1:
			put(l, Source{Expr: right[0], Result: i})
		}
	}
}

// Root gives the variable or field that e leads to: x for x, &x, *x, int(x) and x.Fd(); the field f for x.f.
func (x *Index) Root(e ast.Expr) types.Object {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return x.Root(e.X)
	case *ast.StarExpr:
		return x.Root(e.X)
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return x.Root(e.X)
		}
	case *ast.TypeAssertExpr:
		return x.Root(e.X)
	case *ast.Ident:
		v, _ := x.info.ObjectOf(e).(*types.Var)
		return orNil(v)
	case *ast.SelectorExpr:
		v, _ := x.info.ObjectOf(e.Sel).(*types.Var)
		return orNil(v)
	case *ast.CallExpr:
		if x.info.Types[e.Fun].IsType() && len(e.Args) == 1 {
			return x.Root(e.Args[0])
		}
		if s, ok := e.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Fd" && len(e.Args) == 0 {
			return x.Root(s.X)
		}
	}
	return nil
}

// orNil keeps a nil variable from becoming an interface that is not nil. The origin stands for the field of every
// instance of a generic type.
func orNil(v *types.Var) types.Object {
	if v == nil {
		return nil
	}
	return v.Origin()
}

// Carrier gives the variable that keeps a lock alive, from the expression that was locked: the file f for
// int(f.Fd()), and for fd after fd := int(f.Fd()).
func (x *Index) Carrier(e ast.Expr) types.Object {
	v := x.Root(e)
	for range 3 {
		s := x.Sources(v)
		if v == nil || len(s) != 1 || s[0].Expr == nil {
			return v
		}
		next := x.Root(s[0].Expr)
		if next == nil {
			return v
		}
		v = next
	}
	return v
}

// Openers gives the calls that may have opened what v carries.
func (x *Index) Openers(v types.Object) []*Call { return x.openers(v, 2) }

func (x *Index) openers(v types.Object, depth int) []*Call {
	var all []*Call
	for _, s := range x.Sources(v) {
		c := x.Call(s.Expr)
		switch {
		case c == nil && s.Expr != nil && depth > 0:
			if next := x.Root(s.Expr); next != nil && next != v {
				all = append(all, x.openers(next, depth-1)...)
			}
		case c == nil:
		case c.Path() != nil || c.Name == "sys.Dup":
			all = append(all, c)
		case depth > 0:
			for _, r := range x.Returned(c.Func, s.Result) {
				if inner := x.Call(r); inner != nil && inner.Path() != nil {
					all = append(all, inner)
				} else if next := x.Root(r); next != nil {
					all = append(all, x.openers(next, depth-1)...)
				}
			}
		}
	}
	return all
}

// Returned gives what the function fn of this package returns as its result i.
func (x *Index) Returned(fn *types.Func, i int) []ast.Expr {
	d := x.decls[fn]
	if d == nil || d.Body == nil {
		return nil
	}
	var all []ast.Expr
	Inside(d.Body, func(n ast.Node) {
		if r, ok := n.(*ast.ReturnStmt); ok && i < len(r.Results) {
			all = append(all, r.Results[i])
		}
	})
	return all
}

// Inside calls do for n and the nodes below it, without those of function literals.
func Inside(n ast.Node, do func(ast.Node)) {
	ast.Inspect(n, func(n ast.Node) bool {
		if _, lit := n.(*ast.FuncLit); lit || n == nil {
			return false
		}
		do(n)
		return true
	})
}
