package pidalive

import (
	_ "embed"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/solehold/solehold/vet/internal/check"
	"github.com/solehold/solehold/vet/internal/locks"
)

//go:embed doc.go
var doc string

// Analyzer makes the analyzer.
func Analyzer() *analysis.Analyzer { return check.New(doc, run) }

func run(p *check.Pass) {
	existence(p)
	asks := probes(p)
	if len(asks) == 0 || looksCloser(p) {
		return
	}
	for _, a := range asks {
		if fromFile(p, a.pid, 4) {
			p.Foundf(a.call, "that a process has this number does not make it the owner: pids are used again, and EPERM is alive; ask for a lock, or compare start time and program as well")
		}
	}
}

// ask is a question whether a process with this number exists.
type ask struct {
	call *locks.Call
	pid  ast.Expr
}

// probes finds kill(pid, 0), p.Signal(0) after os.FindProcess(pid), and the callers of functions that do it for a
// parameter.
func probes(p *check.Pass) []ask {
	var all []ask
	for _, c := range p.Calls("sys.Kill") {
		if sig, ok := c.Int(1); ok && sig == 0 {
			all = append(all, ask{c, c.Args[0]})
		}
	}
	for _, c := range p.Calls("os.Process.Signal") {
		if !isZero(p, c.Args[0]) {
			continue
		}
		for _, s := range p.Sources(p.Root(c.Recv())) {
			if find := p.Call(s.Expr); find != nil && find.Name == "os.FindProcess" {
				all = append(all, ask{c, find.Args[0]})
			}
		}
	}
	for _, a := range all {
		all = append(all, callers(p, a)...)
	}
	return all
}

func isZero(p *check.Pass, sig ast.Expr) bool {
	v := p.TypesInfo.Types[sig].Value
	if v == nil {
		return false
	}
	n, ok := constant.Int64Val(constant.ToInt(v))
	return ok && n == 0
}

// callers gives the questions of those who call the function around a with the pid as an argument.
func callers(p *check.Pass, a ask) []ask {
	d := a.call.FuncDecl()
	if d == nil {
		return nil
	}
	fn, ok := p.TypesInfo.Defs[d.Name].(*types.Func)
	if !ok {
		return nil
	}
	var all []ask
	params := fn.Signature().Params()
	for i := range params.Len() {
		if params.At(i) != p.Root(a.pid) {
			continue
		}
		for _, c := range p.Own(fn) {
			if i < len(c.Args) {
				all = append(all, ask{c, c.Args[i]})
			}
		}
	}
	return all
}

// fromFile says whether the number e was parsed from what a file has.
func fromFile(p *check.Pass, e ast.Expr, depth int) bool {
	for _, c := range parses(p, e, depth) {
		if d := c.FuncDecl(); d != nil && readsFile(p, d) {
			return true
		}
	}
	return false
}

// parses gives the calls that turn text into the number e, here or in a function of the package.
func parses(p *check.Pass, e ast.Expr, depth int) []*locks.Call {
	if depth == 0 {
		return nil
	}
	var all []*locks.Call
	if c := p.Call(ast.Unparen(e)); c != nil {
		all = append(all, parse(p, locks.Source{Expr: e}, depth)...)
	}
	for _, s := range p.Sources(p.Root(e)) {
		all = append(all, parse(p, s, depth)...)
	}
	return all
}

func parse(p *check.Pass, s locks.Source, depth int) []*locks.Call {
	c := p.Call(s.Expr)
	switch {
	case s.Expr == nil:
		return nil
	case c == nil:
		return parses(p, s.Expr, depth-1)
	case c.Name == "strconv.Atoi", c.Name == "strconv.ParseInt":
		return []*locks.Call{c}
	}
	var all []*locks.Call
	for _, r := range p.Returned(c.Func, s.Result) {
		all = append(all, parses(p, r, depth-1)...)
		if inner := p.Call(r); inner != nil && (inner.Name == "strconv.Atoi" || inner.Name == "strconv.ParseInt") {
			all = append(all, inner)
		}
	}
	return all
}

// readsFile says whether the function reads a file as a whole or by lines.
func readsFile(p *check.Pass, d *ast.FuncDecl) bool {
	for _, c := range p.Calls("os.ReadFile", "os.ReadAll", "io.ReadAll", "os.File.Read", "bufio.NewReader", "bufio.NewScanner") {
		if c.FuncDecl() == d {
			return true
		}
	}
	return false
}

// looksCloser says whether the package reads more about a process than that it exists.
func looksCloser(p *check.Pass) bool {
	for _, f := range p.Files {
		found := false
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if ok && lit.Kind == token.STRING && closer(lit.Value) {
				found = true
			}
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

func closer(s string) bool {
	for _, file := range []string{"exe", "stat", "cmdline", "comm"} {
		if s == `"`+file+`"` || strings.Contains(s, "/proc/") && strings.Contains(s, "/"+file) {
			return true
		}
	}
	return false
}
