package lockcloexec

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
		for _, open := range l.Opens {
			if fixes, bad := inherited(p, open); bad && !setLater(p, l) {
				p.Found(analysis.Diagnostic{
					Pos: open.Pos(), End: open.End(),
					Message:        "every child inherits this descriptor and with it the lock (" + p.At(l.Call) + "), also when its owner is dead; open with O_CLOEXEC",
					SuggestedFixes: fixes,
					Related:        []analysis.RelatedInformation{check.Mark(l.Call, "locked here")},
				})
			}
		}
	}
}

// inherited says whether children get what the call opens, and how to keep it from them.
func inherited(p *check.Pass, open *locks.Call) ([]analysis.SuggestedFix, bool) {
	at := 1
	switch open.Name {
	case "sys.Openat":
		at = 2
	case "sys.Open":
	case "sys.Dup", "sys.Creat":
		return nil, true
	default:
		return nil, false
	}
	flags, known := open.Int(at)
	cloexec, exists := open.Const("O_CLOEXEC")
	if !known || !exists || flags&cloexec != 0 {
		return nil, false
	}
	arg := open.Args[at]
	name := open.Func.Pkg().Name()
	return check.Replace("close it on exec", arg, p.Source(arg)+"|"+name+".O_CLOEXEC"), true
}

// setLater says whether the package sets the flag after opening.
func setLater(p *check.Pass, l *locks.Lock) bool {
	for _, c := range p.Calls("sys.CloseOnExec", "sys.FcntlInt") {
		if l.Carrier != nil && p.Carrier(c.Args[0]) == l.Carrier {
			return true
		}
	}
	return len(p.Calls("sys.CloseOnExec")) > 0 && l.Carrier == nil
}
