package locks

import (
	"go/ast"
	"go/constant"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"
)

// Call is a call of a function that the rules know, or of one of this package.
type Call struct {
	*ast.CallExpr
	// Name is package, type and function as the rules call them, such as "os.File.Close"; "" for a function that is
	// this package's only.
	Name string
	// Func is the function; for an instance of a generic one, the generic one.
	Func *types.Func

	cur inspector.Cursor
	x   *Index
}

// Body gives the innermost function around the call: a declaration or a literal, or nil at package level.
func (c *Call) Body() ast.Node {
	for cur := range c.cur.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		return cur.Node()
	}
	return nil
}

// FuncDecl gives the declared function around the call, or nil at package level.
func (c *Call) FuncDecl() *ast.FuncDecl {
	for cur := range c.cur.Enclosing((*ast.FuncDecl)(nil)) {
		return cur.Node().(*ast.FuncDecl)
	}
	return nil
}

// Parent gives the node around the call, parentheses left out.
func (c *Call) Parent() ast.Node {
	p := c.cur.Parent()
	for {
		if _, paren := p.Node().(*ast.ParenExpr); !paren {
			return p.Node()
		}
		p = p.Parent()
	}
}

// Deferred says whether the call is deferred: itself, or inside a literal that is.
func (c *Call) Deferred() bool {
	for cur := range c.cur.Enclosing((*ast.DeferStmt)(nil), (*ast.FuncDecl)(nil)) {
		_, ok := cur.Node().(*ast.DeferStmt)
		return ok
	}
	return false
}

// Result gives the variable that receives result i; nil where it is dropped, not a plain variable, or used in place.
func (c *Call) Result(i int) types.Object {
	e := c.target(i)
	if e == nil || c.Ignored(i) {
		return nil
	}
	return c.x.Root(e)
}

// Ignored says whether result i is thrown away: the call is a statement, or the result goes to the blank identifier.
func (c *Call) Ignored(i int) bool {
	switch c.Parent().(type) {
	case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt:
		return true
	}
	id, ok := c.target(i).(*ast.Ident)
	return ok && id.Name == "_"
}

// target gives what result i is assigned to, or nil.
func (c *Call) target(i int) ast.Expr {
	var left []ast.Expr
	switch p := c.Parent().(type) {
	case *ast.AssignStmt:
		if len(p.Rhs) != 1 {
			return nil
		}
		left = p.Lhs
	case *ast.ValueSpec:
		if len(p.Values) != 1 {
			return nil
		}
		for _, id := range p.Names {
			left = append(left, id)
		}
	}
	if i < 0 || i >= len(left) {
		return nil
	}
	return left[i]
}

// Recv gives the expression whose method is called, or nil.
func (c *Call) Recv() ast.Expr {
	if s, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr); ok && c.x.info.Selections[s] != nil {
		return s.X
	}
	return nil
}

// Path gives the expression for the file that the call opens or locks, or nil.
func (c *Call) Path() ast.Expr {
	if i, ok := pathArg(c.Name); ok && i < len(c.Args) {
		return c.Args[i]
	}
	return nil
}

// Anchored says whether that path is a name in a directory that the program has open: then the working directory has
// no part in it, and an equal path elsewhere may be another file.
func (c *Call) Anchored() bool {
	switch c.Name {
	case "os.Root.Open", "os.Root.Create", "os.Root.OpenFile":
		return true
	case "sys.Openat":
		return !c.Is(0, "AT_FDCWD")
	}
	return false
}

// Int gives the value of argument i if it is a constant.
func (c *Call) Int(i int) (int64, bool) {
	if i >= len(c.Args) {
		return 0, false
	}
	v := c.x.info.Types[c.Args[i]].Value
	if v == nil {
		return 0, false
	}
	return constant.Int64Val(constant.ToInt(v))
}

// Const gives the value of a constant of the package that declares the called function, such as O_CLOEXEC of syscall.
func (c *Call) Const(name string) (int64, bool) {
	k, ok := c.Func.Pkg().Scope().Lookup(name).(*types.Const)
	if !ok {
		return 0, false
	}
	return constant.Int64Val(constant.ToInt(k.Val()))
}

// Is says whether argument i is the constant with this name of the function's own package.
func (c *Call) Is(i int, name string) bool {
	v, ok := c.Int(i)
	want, known := c.Const(name)
	return ok && known && v == want
}

// Enclosing gives the innermost node of this type around the call, inside its function.
func Enclosing[N ast.Node](c *Call) (found N, ok bool) {
	for cur := range c.cur.Enclosing() {
		switch n := cur.Node().(type) {
		case N:
			return n, true
		case *ast.FuncDecl, *ast.FuncLit:
			return found, false
		}
	}
	return found, false
}
