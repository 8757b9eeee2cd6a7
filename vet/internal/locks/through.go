package locks

import (
	"go/ast"
	"go/constant"
	"go/types"
)

// through gives the calls that take the lock l by calling the function around it: one that locks what it is given, or
// one that returns what it has locked.
func (x *Index) through(l *Lock) []*Lock {
	d := l.Call.FuncDecl()
	if d == nil || l.Carrier == nil || l.Call.Body() != ast.Node(d) || x.unlocks(d, l.Carrier) {
		return nil
	}
	fn, ok := x.info.Defs[d.Name].(*types.Func)
	if !ok {
		return nil
	}
	sig := fn.Signature()
	if i := paramIndex(sig, l.Carrier); i >= 0 {
		return x.lockers(l, fn, i)
	}
	if i := x.resultIndex(d, l.Carrier); i >= 0 {
		return x.constructors(l, fn, i)
	}
	return nil
}

// lockers has the callers of a function that locks its parameter i.
func (x *Index) lockers(l *Lock, fn *types.Func, i int) []*Lock {
	var all []*Lock
	ok, err := verdicts(fn.Signature())
	for _, c := range x.own[fn] {
		if i >= len(c.Args) {
			continue
		}
		m := &Lock{Call: c, Carrier: x.Carrier(c.Args[i]), OK: ok, Err: err, Sure: l.Sure, POSIX: l.POSIX}
		m.setPath(x)
		m.Collected = m.Carrier != nil && isFile(m.Carrier.Type())
		all = append(all, m)
	}
	return all
}

// constructors has the callers of a function whose result i carries the lock.
func (x *Index) constructors(l *Lock, fn *types.Func, i int) []*Lock {
	var all []*Lock
	_, err := verdicts(fn.Signature())
	for _, c := range x.own[fn] {
		m := *l
		m.Call, m.Carrier, m.OK, m.Err = c, nil, -1, err
		if i == 0 {
			m.Carrier = c.Result(0)
		}
		m.Path = nil // it is in the words of the function, not of its caller
		all = append(all, &m)
	}
	return all
}

// verdicts gives the numbers of the results that say whether something was done: a bool and an error.
func verdicts(sig *types.Signature) (ok, err int) {
	ok, err = -1, -1
	for i := range sig.Results().Len() {
		switch t := sig.Results().At(i).Type(); {
		case types.Identical(t, types.Typ[types.Bool]):
			ok = i
		case types.Identical(t, types.Universe.Lookup("error").Type()):
			err = i
		}
	}
	return ok, err
}

// paramIndex gives the number of the parameter v, or -1.
func paramIndex(sig *types.Signature, v types.Object) int {
	for i := range sig.Params().Len() {
		if sig.Params().At(i) == v {
			return i
		}
	}
	return -1
}

// resultIndex gives the number of the result in which d returns v, or something made of v; -1 for none.
func (x *Index) resultIndex(d *ast.FuncDecl, v types.Object) int {
	found := -1
	Inside(d.Body, func(n ast.Node) {
		r, ok := n.(*ast.ReturnStmt)
		if !ok {
			return
		}
		for i, e := range r.Results {
			if found < 0 && x.madeOf(e, v, 1) {
				found = i
			}
		}
	})
	return found
}

// madeOf says whether e is v, a literal with v in it, or a variable that was given one of these.
func (x *Index) madeOf(e ast.Expr, v types.Object, depth int) bool {
	if _, call := ast.Unparen(e).(*ast.CallExpr); call {
		return false
	}
	if x.Mentions(e, v) {
		return true
	}
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok || depth == 0 {
		return false
	}
	for _, s := range x.Sources(x.info.ObjectOf(id)) {
		if s.Expr != nil && x.madeOf(s.Expr, v, depth-1) {
			return true
		}
	}
	return false
}

// Mentions says whether v is named at or below n.
func (x *Index) Mentions(n ast.Node, v types.Object) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && v != nil && x.info.ObjectOf(id) == v {
			found = true
		}
		return !found
	})
	return found
}

// unlocks says whether d lets v go again whatever happens, so that it holds nothing once it has returned.
func (x *Index) unlocks(d *ast.FuncDecl, v types.Object) bool {
	found := false
	ast.Inspect(d, func(n ast.Node) bool {
		if def, ok := n.(*ast.DeferStmt); ok {
			ast.Inspect(def, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok && x.Releases(c, v) {
					found = true
				}
				return true
			})
		}
		return !found
	})
	return found
}

// Releases says whether the call lets go of the lock that v carries.
func (x *Index) Releases(call *ast.CallExpr, v types.Object) bool {
	if v == nil {
		return false
	}
	if s, ok := call.Fun.(*ast.SelectorExpr); ok && releaseName(s.Sel.Name) && x.Root(s.X) == v {
		return true
	}
	if x.Root(call.Fun) == v { // the lock is a function that unlocks
		return true
	}
	c := x.Call(call)
	if c == nil || len(c.Args) == 0 || x.Carrier(c.Args[0]) != v {
		return false
	}
	switch c.Name {
	case "sys.Close", "filelock.Unlock":
		return true
	case "sys.Flock":
		how, known := c.Int(1)
		un, _ := c.Const("LOCK_UN")
		return known && how&un != 0
	case "sys.FcntlFlock":
		typ, known := x.structType(c.Args[len(c.Args)-1], 2)
		un, _ := c.Const("F_UNLCK")
		return known && typ == un
	}
	return false
}

func releaseName(s string) bool {
	switch s {
	case "Close", "Unlock", "RUnlock", "Release", "Abandon":
		return true
	}
	return false
}

// structType gives the field Type of a lock structure if it is a constant.
func (x *Index) structType(e ast.Expr, depth int) (int64, bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		return x.structType(e.X, depth)
	case *ast.CompositeLit:
		for _, kv := range e.Elts {
			kv, ok := kv.(*ast.KeyValueExpr)
			if !ok {
				return 0, false
			}
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Type" {
				v := x.info.Types[kv.Value].Value
				if v == nil {
					return 0, false
				}
				return constant.Int64Val(constant.ToInt(v))
			}
		}
	case *ast.Ident:
		for _, s := range x.Sources(x.info.ObjectOf(e)) {
			if s.Expr != nil && depth > 0 {
				return x.structType(s.Expr, depth-1)
			}
		}
	}
	return 0, false
}
