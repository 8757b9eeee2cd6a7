package posixlock

import (
	_ "embed"

	"golang.org/x/tools/go/analysis"

	"github.com/solehold/solehold/vet/internal/check"
	"github.com/solehold/solehold/vet/internal/locks"
)

//go:embed doc.go
var doc string

// Analyzer makes the analyzer.
func Analyzer() *analysis.Analyzer { return check.New(doc, run) }

func run(p *check.Pass) {
	for _, l := range p.Locks() {
		if !l.POSIX {
			continue
		}
		others := otherOpens(p, l)
		if len(others) == 0 {
			continue
		}
		d := analysis.Diagnostic{
			Pos: l.Call.Pos(), End: l.Call.End(),
			Message: "this lock is dropped when any descriptor of its file is closed, and " + p.At(others[0]) + " opens the file too; use F_OFD_SETLK or flock",
		}
		for _, c := range others {
			d.Related = append(d.Related, check.Mark(c, "opened here"))
		}
		p.Found(d)
	}
}

// otherOpens gives the calls that open the file of l, apart from the one that it is locked through.
func otherOpens(p *check.Pass, l *locks.Lock) []*locks.Call {
	var others []*locks.Call
	for _, c := range p.Calls("os.Open", "os.OpenFile", "os.Create", "os.ReadFile", "os.WriteFile", "sys.Open") {
		if c.CallExpr != l.Opened() && p.Same(l.Path, c.Path()) {
			others = append(others, c)
		}
	}
	return others
}
