package locks

import (
	"go/ast"
	"go/types"
	"reflect"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

// Analyzer makes the [Index] of a package. It reports nothing.
//
//archtest:allow vars the framework shares the result of a pass by the identity of this pointer
var Analyzer = &analysis.Analyzer{
	Name:       "locks",
	Doc:        "find the calls that lock, open and remove files",
	Requires:   []*analysis.Analyzer{inspect.Analyzer},
	ResultType: reflect.TypeFor[*Index](),
	Run:        run,
}

// Index is what is known about the calls of one package.
type Index struct {
	root    inspector.Cursor
	info    *types.Info
	calls   map[string][]*Call
	own     map[*types.Func][]*Call
	byNode  map[*ast.CallExpr]*Call
	decls   map[*types.Func]*ast.FuncDecl
	sources func() map[types.Object][]Source
	locks   func() []*Lock
}

// run indexes the calls of a package. Values are followed later, and only where an analyzer asks: most packages lock
// nothing.
func run(pass *analysis.Pass) (any, error) {
	x := &Index{
		root:   pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root(),
		info:   pass.TypesInfo,
		calls:  map[string][]*Call{},
		own:    map[*types.Func][]*Call{},
		byNode: map[*ast.CallExpr]*Call{},
		decls:  map[*types.Func]*ast.FuncDecl{},
	}
	x.sources = sync.OnceValue(x.findSources)
	x.locks = sync.OnceValue(x.findLocks)
	names := map[*types.Package]string{}
	for cur := range x.root.Preorder((*ast.CallExpr)(nil)) {
		x.add(cur, pass.Pkg, names)
	}
	for _, f := range pass.Files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				if fn, ok := pass.TypesInfo.Defs[d.Name].(*types.Func); ok {
					x.decls[fn] = d
				}
			}
		}
	}
	return x, nil
}

// add indexes one call if its function belongs to this package or to one that the rules know.
func (x *Index) add(cur inspector.Cursor, here *types.Package, names map[*types.Package]string) {
	call := cur.Node().(*ast.CallExpr)
	fn, ok := typeutil.Callee(x.info, call).(*types.Func)
	if !ok || fn.Pkg() == nil {
		return
	}
	fn = fn.Origin()
	pkg, seen := names[fn.Pkg()]
	if !seen {
		pkg = short(fn.Pkg().Path())
		names[fn.Pkg()] = pkg
	}
	if pkg == "" && fn.Pkg() != here {
		return
	}
	c := &Call{CallExpr: call, Func: fn, cur: cur, x: x}
	x.byNode[call] = c
	if fn.Pkg() == here {
		x.own[fn] = append(x.own[fn], c)
	}
	if pkg != "" {
		c.Name = fullName(pkg, fn)
		x.calls[c.Name] = append(x.calls[c.Name], c)
	}
}

// Calls gives the calls of the functions with these names, in the order of the names and then of the source.
func (x *Index) Calls(names ...string) []*Call {
	var all []*Call
	for _, n := range names {
		all = append(all, x.calls[n]...)
	}
	return all
}

// Call gives what is known about a call, or nil where its function is unknown.
func (x *Index) Call(e ast.Node) *Call {
	c, _ := e.(*ast.CallExpr)
	return x.byNode[c]
}

// Own gives the calls of fn, a function of this package.
func (x *Index) Own(fn *types.Func) []*Call { return x.own[fn] }

// Decl gives the declaration of fn, or nil where it is not in this package.
func (x *Index) Decl(fn *types.Func) *ast.FuncDecl { return x.decls[fn] }

// Decls gives the functions of the package with their declarations.
func (x *Index) Decls() map[*types.Func]*ast.FuncDecl { return x.decls }

// Info gives the types of the package.
func (x *Index) Info() *types.Info { return x.info }

// Locks gives the places where the package takes a lock, in no particular order.
func (x *Index) Locks() []*Lock { return x.locks() }
