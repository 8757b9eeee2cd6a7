package locks_test

import (
	"fmt"
	"go/ast"
	"go/types"
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/solehold/solehold/vet/internal/locks"
)

func testdata(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// teller makes an analyzer that reports what tell says of each package.
func teller(tell func(*analysis.Pass, *locks.Index)) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: "tell", Doc: "tells what the index knows", Requires: []*analysis.Analyzer{locks.Analyzer},
		Run: func(p *analysis.Pass) (any, error) {
			tell(p, p.ResultOf[locks.Analyzer].(*locks.Index))
			return nil, nil
		},
	}
}

// TestLocks tells each place that locks, and by what.
func TestLocks(t *testing.T) {
	analysistest.Run(t, testdata(t), teller(func(p *analysis.Pass, x *locks.Index) {
		for _, l := range x.Locks() {
			p.Reportf(l.Call.Pos(), "lock by %s on %s%s", carrier(l.Carrier), x.Key(l.Path), flags(l))
		}
	}), "sites")
}

func carrier(v types.Object) string {
	if v == nil {
		return "nothing"
	}
	return v.Name()
}

func flags(l *locks.Lock) (s string) {
	for text, set := range map[string]bool{"unsure": !l.Sure, "posix": l.POSIX, "leaves": l.Leaves} {
		if set {
			s += " " + text
		}
	}
	return s
}

// TestPaths compares the first two arguments of each call of same and of other.
func TestPaths(t *testing.T) {
	analysistest.Run(t, testdata(t), teller(func(p *analysis.Pass, x *locks.Index) {
		for fn := range x.Decls() {
			if fn.Name() != "same" && fn.Name() != "other" {
				continue
			}
			for _, c := range x.Own(fn) {
				if got := x.Same(c.Args[0], c.Args[1]); got != (fn.Name() == "same") {
					p.Reportf(c.Pos(), "%s: keys %s and %s", fn.Name(), x.Key(c.Args[0]), x.Key(c.Args[1]))
				}
			}
		}
	}), "paths")
}

// TestNames asks of each argument of ask whether it is a lock or a pid file by name.
func TestNames(t *testing.T) {
	analysistest.Run(t, testdata(t), teller(func(p *analysis.Pass, x *locks.Index) {
		for fn := range x.Decls() {
			if fn.Name() != "ask" {
				continue
			}
			for _, c := range x.Own(fn) {
				p.Reportf(c.Pos(), "%s", fmt.Sprint("lock ", x.LockNamed(c.Args[0]), " pid ", x.PidNamed(c.Args[0])))
			}
		}
	}), "named")
}

// TestExits tells what may not return.
func TestExits(t *testing.T) {
	analysistest.Run(t, testdata(t), teller(func(p *analysis.Pass, x *locks.Index) {
		for _, f := range p.Files {
			ast.Inspect(f, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && !x.MayReturn(call) {
					p.Reportf(call.Pos(), "exits %t panics %t", x.Exits(call), x.Panics(call))
				}
				return true
			})
		}
	}), "exits")
}
