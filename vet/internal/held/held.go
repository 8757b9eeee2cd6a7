// Package held tells where in a function a lock is surely held: on every path that leads there, with the branches left
// out in which taking it failed.
//
// It looks at one function at a time. A lock that is handed to another function counts as let go, unless its release
// is deferred already.
package held

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/cfg"

	"github.com/solehold/solehold/vet/internal/locks"
)

// State is what is known about a lock before a node.
type State struct {
	// Held says that every path to the node has taken the lock and not let it go.
	Held bool
	// Deferred says that its release is deferred on every such path.
	Deferred bool
	// reached and fresh are of the search: a path leads here, and the answer of the call is still in its variables.
	reached, fresh bool
}

// Flow is one function with its lock.
type Flow struct {
	x     *locks.Index
	lock  *locks.Lock
	graph *cfg.CFG
	in    []State
	ok    types.Object
	err   types.Object
}

// New follows the lock l through the function around it; nil where that has no body or where it is not sure that the
// call locks.
func New(x *locks.Index, l *locks.Lock) *Flow {
	body := Body(l.Call.Body())
	if body == nil || !l.Sure {
		return nil
	}
	f := &Flow{x: x, lock: l, graph: cfg.New(body, x.MayReturn)}
	f.ok, f.err = l.Call.Result(l.OK), l.Call.Result(l.Err)
	f.solve()
	return f
}

// Body gives the block of a function declaration or literal, or nil.
func Body(fn ast.Node) *ast.BlockStmt {
	switch fn := fn.(type) {
	case *ast.FuncDecl:
		return fn.Body
	case *ast.FuncLit:
		return fn.Body
	}
	return nil
}

// solve finds the state at the start of each block: true means the same on all paths, so states only fall.
func (f *Flow) solve() {
	f.in = make([]State, len(f.graph.Blocks))
	f.in[0].reached = true
	for changed := true; changed; {
		changed = false
		for _, b := range f.graph.Blocks {
			if !b.Live || !f.in[b.Index].reached {
				continue
			}
			out := f.in[b.Index]
			for _, n := range b.Nodes {
				out = f.after(n, out)
			}
			for i, s := range b.Succs {
				changed = f.merge(s.Index, f.branch(b, i, out)) || changed
			}
		}
	}
}

func (f *Flow) merge(i int32, s State) bool {
	old, now := f.in[i], s
	if old.reached {
		now = State{old.Held && s.Held, old.Deferred && s.Deferred, true, old.fresh && s.fresh}
	}
	f.in[i] = now
	return now != old
}

// after gives the state behind node n.
func (f *Flow) after(n ast.Node, s State) State {
	if d, ok := n.(*ast.DeferStmt); ok {
		s.Deferred = s.Deferred || f.Releases(d)
		return s
	}
	taken := false
	locks.Inside(n, func(n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		switch {
		case !ok:
		case call == f.lock.Call.CallExpr:
			taken = true
		case f.x.Releases(call, f.lock.Carrier):
			s.Held = false
		case !s.Deferred && f.handedTo(call):
			s.Held = false
		}
	})
	switch {
	case taken:
		return State{Held: true, Deferred: s.Deferred, reached: true, fresh: true}
	case f.assigns(n):
		s.fresh = false
	}
	return s
}

// Releases says whether the lock is let go anywhere in n, function literals included.
func (f *Flow) Releases(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && f.x.Releases(call, f.lock.Carrier) {
			found = true
		}
		return !found
	})
	return found
}

// handedTo says whether the call gets the lock's carrier itself: not a method of it, and not only its descriptor.
func (f *Flow) handedTo(call *ast.CallExpr) bool {
	if c := f.x.Call(call); c != nil && harmless(c.Name) {
		return false
	}
	for _, a := range call.Args {
		if id, ok := ast.Unparen(a).(*ast.Ident); ok && f.lock.Carrier != nil && f.x.Info().ObjectOf(id) == f.lock.Carrier {
			return true
		}
	}
	return false
}

func harmless(name string) bool {
	switch name {
	case "fmt.Fprintf", "fmt.Fprintln", "fmt.Fprint", "fmt.Println", "fmt.Printf", "log.Printf", "log.Println", "runtime.KeepAlive", "sys.Flock":
		return true
	}
	return false
}

// assigns says whether n sets the variables that tell whether the lock was taken.
func (f *Flow) assigns(n ast.Node) bool {
	a, ok := n.(*ast.AssignStmt)
	if !ok {
		return false
	}
	for _, l := range a.Lhs {
		if v := f.x.Root(l); v != nil && (v == f.ok || v == f.err) {
			return true
		}
	}
	return false
}

// branch gives the state on the way from b to its successor i, where b ends with a condition about the lock.
func (f *Flow) branch(b *cfg.Block, i int, s State) State {
	if len(b.Succs) != 2 || len(b.Nodes) == 0 || !s.Held {
		return s
	}
	if cond, ok := b.Nodes[len(b.Nodes)-1].(ast.Expr); ok && f.denies(cond, i == 0, s.fresh) {
		s.Held = false
	}
	return s
}

// denies says whether the lock may be missing where cond has the value truth.
func (f *Flow) denies(cond ast.Expr, truth, fresh bool) bool {
	switch e := cond.(type) {
	case *ast.ParenExpr:
		return f.denies(e.X, truth, fresh)
	case *ast.UnaryExpr:
		return e.Op == token.NOT && f.denies(e.X, !truth, fresh)
	case *ast.BinaryExpr:
		switch e.Op {
		case token.LAND, token.LOR:
			return f.denies(e.X, truth, fresh) || f.denies(e.Y, truth, fresh)
		case token.EQL, token.NEQ:
			switch {
			case !f.isNil(e.Y):
			case f.isVerdict(e.X, f.err, f.lock.Err, fresh):
				return (e.Op == token.NEQ) == truth
			case f.lock.Carrier != nil && f.x.Root(e.X) == f.lock.Carrier: // nothing carries it there
				return (e.Op == token.EQL) == truth
			}
		}
	}
	if f.isVerdict(cond, f.ok, f.lock.OK, fresh) {
		return !truth
	}
	// Anything else about the error, such as errors.Is: where it holds there is an error.
	return truth && fresh && f.err != nil && f.x.Mentions(cond, f.err)
}

// isVerdict says whether e is the variable v, which still has the lock's answer, or the locking call used in place.
func (f *Flow) isVerdict(e ast.Expr, v types.Object, result int, fresh bool) bool {
	e = ast.Unparen(e)
	if e == ast.Expr(f.lock.Call.CallExpr) {
		return result == 0
	}
	id, ok := e.(*ast.Ident)
	return ok && fresh && v != nil && f.x.Info().ObjectOf(id) == v
}

func (f *Flow) isNil(e ast.Expr) bool { return f.x.Info().Types[e].IsNil() }

// Walk calls do for each node of the function that can be reached, with what holds before it.
func (f *Flow) Walk(do func(ast.Node, State)) {
	for _, b := range f.graph.Blocks {
		s := f.in[b.Index]
		if !b.Live || !s.reached {
			continue
		}
		for _, n := range b.Nodes {
			do(n, s)
			s = f.after(n, s)
		}
	}
}

// InPlace says whether n tests the answer of the locking call rather than passing it on.
func (f *Flow) InPlace(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && (f.isVerdict(b.X, nil, f.lock.Err, false) || f.isVerdict(b.Y, nil, f.lock.Err, false)) {
			found = true
		}
		return !found
	})
	return found
}
