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
		if fromFile(p, a) {
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
