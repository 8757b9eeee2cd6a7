package locktemp

import (
	_ "embed"
	"go/ast"
	"go/token"
	"path"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/solehold/solehold/vet/internal/check"
)

//go:embed doc.go
var doc string

// Analyzer makes the analyzer.
func Analyzer() *analysis.Analyzer { return check.New(doc, run) }

func run(p *check.Pass) {
	for _, l := range p.Locks() {
		for _, open := range l.Opens {
			if !open.Anchored() {
				judge(p, open.Path(), "lock file")
			}
		}
		if l.Call.Name == "solehold.Acquire" && len(l.Call.Args) > 1 {
			judge(p, l.Call.Args[1], "data directory")
		}
	}
	for _, c := range p.Calls("os.WriteFile", "os.Create", "os.OpenFile") {
		if p.PidNamed(c.Path()) {
			judge(p, c.Path(), "pid file")
		}
	}
}

// judge reports the path e of a file of this kind if it is shared.
func judge(p *check.Pass, e ast.Expr, kind string) {
	switch why := shared(p, e); why {
	case "":
	case "relative":
		p.Foundf(e, "the name of this %s is relative: each working directory has another; put it at a fixed place in the data directory", kind)
	default:
		p.Foundf(e, "this %s is in %s: anyone can take or clean away the name; put it in the data directory", kind, why)
	}
}

// shared gives the shared directory that the path e lies in, "relative", or "".
func shared(p *check.Pass, e ast.Expr) string {
	head, rest := first(p, e, 4)
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		if head == dir && rest || strings.HasPrefix(head, dir+"/") {
			return dir
		}
	}
	if head == "os.TempDir()" && rest {
		return head
	}
	if s, ok := p.Str(p.Follow(e)); ok && s != "" && !path.IsAbs(s) && !strings.Contains(s, ":") && !strings.HasPrefix(s, `\`) {
		return "relative"
	}
	return ""
}

// first gives what a path starts with, a constant or os.TempDir(), and whether something constant follows.
func first(p *check.Pass, e ast.Expr, depth int) (head string, rest bool) {
	if s, ok := p.Str(e); ok {
		return s, false
	}
	if e == nil || depth == 0 {
		return "", false
	}
	switch e := ast.Unparen(p.Follow(e)).(type) {
	case *ast.BinaryExpr:
		head, _ = first(p, e.X, depth-1)
		_, rest = p.Str(e.Y)
		return head, rest && e.Op == token.ADD
	case *ast.CallExpr:
		c := p.Call(e)
		switch {
		case c == nil:
		case c.Name == "os.TempDir":
			return "os.TempDir()", false
		case c.Name == "filepath.Join" && len(e.Args) > 1:
			head, _ = first(p, e.Args[0], depth-1)
			_, rest = p.Str(e.Args[len(e.Args)-1])
			return head, rest
		}
	case *ast.BasicLit:
		s, _ := p.Str(e)
		return s, false
	}
	return "", false
}
