package pidalive

import (
	"go/ast"
	"go/types"
	"strings"

	"github.com/solehold/solehold/vet/internal/check"
	"github.com/solehold/solehold/vet/internal/locks"
)

// trail is the way of a number back to where it comes from, through functions of the package.
type trail struct {
	p            *check.Pass
	parsed, read bool // out of text; in a function that reads a file
}

// fromFile says whether the number that a asks about was parsed from what a file has.
func fromFile(p *check.Pass, a ask) bool {
	t := &trail{p: p}
	t.visit(a.call.FuncDecl())
	t.follow(a.pid, 4)
	return t.parsed && t.read
}

// visit notes whether the function reads a file.
func (t *trail) visit(d *ast.FuncDecl) {
	for _, c := range t.p.Calls("os.ReadFile", "os.ReadAll", "io.ReadAll", "os.File.Read", "bufio.NewReader", "bufio.NewScanner") {
		if d != nil && c.FuncDecl() == d {
			t.read = true
		}
	}
}

// follow goes from the expression e to the values that it may have.
func (t *trail) follow(e ast.Expr, depth int) {
	if c := t.p.Call(ast.Unparen(e)); c != nil {
		t.call(c, 0, depth)
	}
	v := t.p.Root(e)
	if v == nil || depth == 0 {
		return
	}
	t.scanned(v)
	for _, s := range t.p.Sources(v) {
		if c := t.p.Call(s.Expr); c != nil {
			t.call(c, s.Result, depth)
		} else if s.Expr != nil {
			t.follow(s.Expr, depth-1)
		}
	}
}

// call follows result i of a call.
func (t *trail) call(c *locks.Call, i, depth int) {
	if c.Name == "strconv.Atoi" || c.Name == "strconv.ParseInt" {
		t.parsed = true
		t.visit(c.FuncDecl())
		return
	}
	if d := t.p.Decl(c.Func); d != nil && depth > 0 {
		t.visit(d)
		for _, r := range t.p.Returned(c.Func, i) {
			t.follow(r, depth-1)
		}
	}
}

// scanned notes that v gets its value from a scan of text.
func (t *trail) scanned(v types.Object) {
	for _, c := range t.p.Calls("fmt.Sscan", "fmt.Sscanln", "fmt.Sscanf", "fmt.Fscan", "fmt.Fscanln", "fmt.Fscanf") {
		for _, a := range c.Args[min(1, len(c.Args)):] {
			if t.p.Root(a) == v {
				t.parsed = true
				t.read = t.read || strings.HasPrefix(c.Name, "fmt.F")
				t.visit(c.FuncDecl())
			}
		}
	}
}
