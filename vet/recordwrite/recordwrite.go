package recordwrite

import (
	_ "embed"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"

	"github.com/solehold/solehold/vet/internal/check"
	"github.com/solehold/solehold/vet/internal/locks"
)

//go:embed doc.go
var doc string

// Analyzer makes the analyzer.
func Analyzer() *analysis.Analyzer { return check.New(doc, run) }

func run(p *check.Pass) {
	for _, c := range p.Calls("os.WriteFile") {
		if c.Ignored(0) && p.PidNamed(c.Path()) {
			p.Foundf(c, "a failed write of the pid file goes unnoticed, and readers see an empty or torn one; check the error")
		}
	}
	writes := append(p.Calls("fmt.Fprint", "fmt.Fprintf", "fmt.Fprintln", "io.WriteString"), p.Calls("os.File.Write", "os.File.WriteString", "os.File.WriteAt")...)
	for _, c := range writes {
		file := target(p, c)
		switch {
		case file == nil || !isRecord(p, file):
		case c.Ignored(1):
			p.Foundf(c, "a failed write of the record goes unnoticed, and readers see an empty or torn one; check the error")
		default:
			closes(p, c, file)
		}
	}
}

// target gives the variable of the file that is written.
func target(p *check.Pass, c *locks.Call) types.Object {
	if recv := c.Recv(); recv != nil {
		return p.Root(recv)
	}
	if len(c.Args) == 0 {
		return nil
	}
	return p.Root(c.Args[0])
}

// isRecord says whether the file is a pid file by its name, or one that the package locks.
func isRecord(p *check.Pass, file types.Object) bool {
	return isPid(p, file) || locked(p, file)
}

func isPid(p *check.Pass, file types.Object) bool {
	for _, open := range p.Openers(file) {
		if open.Name != "os.Open" && p.PidNamed(open.Path()) {
			return true
		}
	}
	return false
}

func locked(p *check.Pass, file types.Object) bool {
	for _, l := range p.Locks() {
		if l.Carrier == file && l.Sure {
			return true
		}
	}
	return false
}

// closes reports the close of a pid file whose error is dropped at every place of the function that writes it.
func closes(p *check.Pass, write *locks.Call, file types.Object) {
	if !isPid(p, file) {
		return // closing a locked file is the release
	}
	var dropped []*locks.Call
	for _, c := range p.Calls("os.File.Close", "os.File.Sync") {
		if p.Root(c.Recv()) != file || c.FuncDecl() != write.FuncDecl() {
			continue
		}
		if !c.Ignored(0) {
			return
		}
		dropped = append(dropped, c)
	}
	if len(dropped) > 0 {
		p.Foundf(last(dropped), "a write of the pid file that fails at its close goes unnoticed; check the error of Close")
	}
}

// last gives the call that stands last.
func last(all []*locks.Call) ast.Node {
	late := all[0]
	for _, c := range all {
		if c.Pos() > late.Pos() {
			late = c
		}
	}
	return late
}
