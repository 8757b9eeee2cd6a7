// Package check is how an analyzer of ours is put together: its texts come from its package comment, its findings stay
// out of test files, and a comment with a reason silences one of them:
//
//	//solehold:allow lockremove the lock of a directory that is itself removed
//
// The comment stands on the line of the finding or on the line above.
package check

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/solehold/solehold/vet/internal/locks"
)

// Pass is one package under one analyzer.
type Pass struct {
	*analysis.Pass
	*locks.Index
	seen map[token.Pos]bool
}

// New makes an analyzer. doc is the source of its doc.go: the package comment becomes the help text, the package's name
// the name.
func New(doc string, run func(*Pass)) *analysis.Analyzer {
	text, name := parse(doc)
	return &analysis.Analyzer{
		Name:     name,
		Doc:      text,
		Requires: []*analysis.Analyzer{locks.Analyzer},
		Run: func(p *analysis.Pass) (any, error) {
			run(&Pass{p, p.ResultOf[locks.Analyzer].(*locks.Index), map[token.Pos]bool{}})
			return nil, nil
		},
	}
}

// parse takes a Go file that is a package comment and a package clause apart.
func parse(doc string) (text, name string) {
	var b strings.Builder
	for line := range strings.Lines(doc) {
		if pkg, ok := strings.CutPrefix(line, "package "); ok {
			name = strings.TrimSpace(pkg)
			break
		}
		line = strings.TrimPrefix(strings.TrimSpace(line), "//")
		b.WriteString(strings.TrimPrefix(line, " ") + "\n")
	}
	text = strings.TrimPrefix(strings.TrimSpace(b.String()), "Package "+name+" ")
	return name + ": " + text, name
}

// Foundf reports a finding at n.
func (p *Pass) Foundf(n ast.Node, format string, args ...any) {
	p.Found(analysis.Diagnostic{Pos: n.Pos(), End: n.End(), Message: fmt.Sprintf(format, args...)})
}

// Found reports a finding once, unless it lies in a test file or a comment allows it. Tests break locks on purpose.
func (p *Pass) Found(d analysis.Diagnostic) {
	at := p.Fset.Position(d.Pos)
	if p.seen[d.Pos] || strings.HasSuffix(at.Filename, "_test.go") || p.allowed(d.Pos) {
		return
	}
	p.seen[d.Pos] = true
	d.Category = p.Analyzer.Name
	p.Report(d)
}

// allowed says whether a comment with a reason stands at pos.
func (p *Pass) allowed(pos token.Pos) bool {
	line := p.Fset.PositionFor(pos, false).Line
	for _, f := range p.Files {
		if pos < f.FileStart || f.FileEnd < pos {
			continue
		}
		for _, g := range f.Comments {
			for _, c := range g.List {
				text, ok := strings.CutPrefix(c.Text, "//solehold:allow ")
				name, reason, _ := strings.Cut(strings.TrimSpace(text), " ")
				n := p.Fset.PositionFor(c.Pos(), false).Line
				if ok && name == p.Analyzer.Name && reason != "" && (n == line || n == line-1) {
					return true
				}
			}
		}
	}
	return false
}

// At gives the place of n as file:line, for a message.
func (p *Pass) At(n ast.Node) string {
	at := p.Fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", at.Filename[strings.LastIndexAny(at.Filename, `/\`)+1:], at.Line)
}

// Source gives the text of an expression.
func (p *Pass) Source(n ast.Node) string {
	return render(p.Fset, n)
}
