package locklost

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
		switch {
		case l.Carrier == nil:
			dropped(p, l)
		case l.Collected && local(l):
			collected(p, l)
		}
	}
}

// dropped reports a lock whose carrier is not even named.
func dropped(p *check.Pass, l *locks.Lock) {
	if l.Call.Name == "solehold.OnlyOrExit" {
		return // it holds until the process ends, and says so
	}
	if isDropped(p, l) {
		p.Foundf(l.Call, "the lock is dropped: nobody can release it, and where a file carries it the garbage collector does; keep the result")
	}
}

func isDropped(p *check.Pass, l *locks.Lock) bool {
	if recv := l.Call.Recv(); recv != nil && l.Collected {
		made := p.Call(ast.Unparen(recv)) // flock.New(path).TryLock()
		return made != nil && made.Path() != nil
	}
	return l.Call.Recv() == nil && carriesResult(l) && l.Call.Ignored(0)
}

// carriesResult says whether the lock is carried by what the call returns.
func carriesResult(l *locks.Lock) bool {
	res := l.Call.Func.Signature().Results()
	if res.Len() == 0 || l.Err == 0 || l.OK == 0 {
		return false
	}
	switch res.At(0).Type().Underlying().(type) {
	case *types.Pointer, *types.Interface, *types.Signature, *types.Struct:
		return true
	}
	return false
}

// local says whether the carrier is a variable of the very function that locks.
func local(l *locks.Lock) bool {
	fn, v := l.Call.Body(), l.Carrier
	body := held.Body(fn)
	return body != nil && body.Pos() <= v.Pos() && v.Pos() < body.End()
}

// collected reports a lock that is held when its function returns although nothing keeps its carrier alive.
func collected(p *check.Pass, l *locks.Lock) {
	body := held.Body(l.Call.Body())
	if p.Escapes(body, l.Carrier, func(c *ast.CallExpr) bool { return locker(p, c) }) || kept(p, l) {
		return
	}
	flow := held.New(p.Index, l)
	if flow == nil {
		return
	}
	if lost(p, l, flow) {
		p.Foundf(l.Call, "the lock ends at the next garbage collection: nothing keeps %s after this function; return it, store it, or close it in a defer", l.Carrier.Name())
	}
}

// lost says whether the function returns with the lock and without a use of its carrier to come. main, which may serve
// for ever, loses it even where it never returns.
func lost(p *check.Pass, l *locks.Lock, flow *held.Flow) bool {
	found, works, released := false, false, false
	flow.Walk(func(n ast.Node, s held.State) {
		ret, ok := n.(*ast.ReturnStmt)
		switch {
		case ok && s.Held && !s.Deferred && !flow.Releases(ret):
			found = true
		case ok && contains(ret, l.Call) && !s.Deferred && !flow.InPlace(ret):
			found = true // return syscall.Flock(...)
		case s.Held && s.Deferred, s.Held && flow.Releases(n):
			released = true
		case s.Held && !ends(p, n):
			works = true
		}
	})
	return found || isMain(p, l) && works && !released
}

// ends says whether n ends the process.
func ends(p *check.Pass, n ast.Node) bool {
	stmt, ok := n.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := stmt.X.(*ast.CallExpr)
	return ok && !p.MayReturn(call)
}

func isMain(p *check.Pass, l *locks.Lock) bool {
	d, ok := l.Call.Body().(*ast.FuncDecl)
	return ok && d.Recv == nil && d.Name.Name == "main" && p.Pkg.Name() == "main"
}

func contains(n ast.Node, c *locks.Call) bool { return n.Pos() <= c.Pos() && c.End() <= n.End() }

// kept says whether the function closes the carrier whatever happens, or keeps it alive on purpose.
func kept(p *check.Pass, l *locks.Lock) bool {
	for _, c := range p.Calls("runtime.KeepAlive") {
		if p.Root(c.Args[0]) == l.Carrier {
			return true
		}
	}
	return false
}

// locker says whether the call only locks, or only writes to, what it is given.
func locker(p *check.Pass, call *ast.CallExpr) bool {
	for _, l := range p.Locks() {
		if l.Call.CallExpr == call {
			return true
		}
	}
	c := p.Call(call)
	return c != nil && (c.Name == "fmt.Fprintf" || c.Name == "fmt.Fprintln" || c.Name == "fmt.Fprint")
}
