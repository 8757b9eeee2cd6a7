package mmapclose

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
	for _, c := range p.Calls("sys.Mmap", "mmapgo.Map", "mmapgo.MapRegion") {
		file := p.Carrier(c.Args[0])
		if anonymous(c) {
			continue
		}
		switch {
		case !unmapped(p, c):
			p.Foundf(c, "this mapping is never unmapped: a removed file keeps its disk space until the process ends; Munmap it")
		case file != nil && !closed(p, c, file):
			p.Foundf(c, "the descriptor behind this mapping (%s) is never closed: a removed file keeps its disk space after Munmap; close it, the mapping stays", file.Name())
		}
	}
}

// anonymous says whether no file is mapped.
func anonymous(c *locks.Call) bool {
	if fd, ok := c.Int(0); ok && fd == -1 {
		return true
	}
	flags, known := c.Int(4)
	for _, name := range []string{"MAP_ANON", "MAP_ANONYMOUS"} {
		if bit, ok := c.Const(name); ok && known && flags&bit != 0 {
			return true
		}
	}
	return false
}

// unmapped says whether the mapping may be undone: in its function where it stays there, else by whoever gets it.
func unmapped(p *check.Pass, c *locks.Call) bool {
	data, body := c.Result(0), held.Body(c.Body())
	if data == nil || body == nil || !inside(data, body) || p.Escapes(body, data, reads(p)) {
		return true
	}
	for _, u := range p.Calls("sys.Munmap", "mmapgo.MMap.Unmap") {
		if u.FuncDecl() == c.FuncDecl() && p.Mentions(u.CallExpr, data) {
			return true
		}
	}
	return false
}

// closed says whether the file is closed in the function, or leaves it.
func closed(p *check.Pass, c *locks.Call, file types.Object) bool {
	body := held.Body(c.Body())
	if body == nil || !inside(file, body) || p.Escapes(body, file, reads(p)) {
		return true
	}
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && p.Releases(call, file) {
			found = true
		}
		return !found
	})
	return found
}

func inside(v types.Object, body *ast.BlockStmt) bool {
	return body.Pos() <= v.Pos() && v.Pos() < body.End()
}

// reads accepts the calls that only look at their argument.
func reads(p *check.Pass) func(*ast.CallExpr) bool {
	return func(call *ast.CallExpr) bool {
		if id, ok := call.Fun.(*ast.Ident); ok && (id.Name == "len" || id.Name == "copy") {
			return true
		}
		c := p.Call(call)
		return c != nil && (c.Name == "sys.Munmap" || c.Name == "sys.Mmap" || c.Name == "mmapgo.Map" || c.Name == "mmapgo.MapRegion")
	}
}
