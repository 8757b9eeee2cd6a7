package archtest

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

// inits finds init functions.
func inits(t *Tree) []Finding {
	var bad []Finding
	for _, f := range t.Files {
		for _, d := range f.funcs() {
			if d.Name.Name == "init" && d.Recv == nil {
				bad = append(bad, f.at(d.Pos(), "func init"))
			}
		}
	}
	return bad
}

// sleeps finds waiting for a time in tests.
func sleeps(t *Tree) []Finding {
	var bad []Finding
	for _, f := range t.Files {
		if f.Test {
			bad = append(bad, f.named("time", "Sleep")...)
		}
	}
	return bad
}

// exits finds the end of a process outside the outermost layer.
func exits(t *Tree) []Finding {
	var bad []Finding
	for _, f := range t.Files {
		top, _, _ := strings.Cut(f.Dir, "/")
		if f.Test || top == "cmd" || top == "examples" || f.Dir == "internal/cli" {
			continue
		}
		bad = append(bad, f.named("os", "Exit")...)
		bad = append(bad, f.named("syscall", "Exit")...)
		bad = append(bad, f.named("log", "Fatal", "Fatalf", "Fatalln")...)
	}
	return bad
}

// panics finds panics outside tests.
func panics(t *Tree) []Finding {
	var bad []Finding
	for _, f := range t.Files {
		if f.Test {
			continue
		}
		for _, c := range f.calls("panic") {
			bad = append(bad, f.at(c.Pos(), "panic"))
		}
		bad = append(bad, f.named("log", "Panic", "Panicf", "Panicln")...)
	}
	return bad
}

// named makes findings of [File.uses].
func (f *File) named(imp string, names ...string) []Finding {
	var bad []Finding
	for _, s := range f.uses(imp, names...) {
		bad = append(bad, f.at(s.Pos(), "%s.%s", imp, s.Sel.Name))
	}
	return bad
}

// manyParams finds functions with five or more parameters.
func manyParams(t *Tree) []Finding {
	var bad []Finding
	for _, f := range t.Files {
		for _, d := range f.funcs() {
			if n := d.Type.Params.NumFields(); n >= 5 && f.Counted && !f.Test {
				bad = append(bad, f.at(d.Pos(), "%s has %d parameters", d.Name.Name, n))
			}
		}
	}
	return bad
}

// skips finds tests that skip by themselves, and scripts that skip without saying what they need.
func skips(t *Tree) []Finding {
	var bad []Finding
	for _, f := range t.Files {
		if f.Dir == "internal/testneed" {
			continue
		}
		bad = append(bad, f.named("testing", "Short")...)
		tests := f.testingNames()
		ast.Inspect(f.AST, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, s.Sel.Name) && tests[lastName(s.X)] {
				bad = append(bad, f.at(s.Pos(), "%s.%s", lastName(s.X), s.Sel.Name))
			}
			return true
		})
	}
	for _, x := range t.Texts {
		if path.Ext(x.Path) == ".txtar" {
			bad = append(bad, scriptSkips(x)...)
		}
	}
	return bad
}

// scriptSkips finds skip commands without a message in the script part of x.
func scriptSkips(x Text) []Finding {
	skip := regexp.MustCompile(`^\s*(\[[^\]]*\]\s*)*skip\b`)
	var bad []Finding
	for i, line := range strings.Split(x.Body, "\n") {
		if strings.HasPrefix(line, "-- ") {
			break
		}
		if skip.MatchString(line) && !strings.Contains(line, "get it:") && !strings.Contains(line, "needs ") {
			bad = append(bad, Finding{Path: x.Path, Line: i + 1, Text: `skip without "needs ..." or "get it: ..."`})
		}
	}
	return bad
}

// testingNames gives the parameters and fields of f whose type is in package testing.
func (f *File) testingNames() map[string]bool {
	names := map[string]bool{}
	local := f.localName("testing")
	ast.Inspect(f.AST, func(n ast.Node) bool {
		field, ok := n.(*ast.Field)
		if !ok {
			return true
		}
		typ := field.Type
		if star, ok := typ.(*ast.StarExpr); ok {
			typ = star.X
		}
		if s, ok := typ.(*ast.SelectorExpr); ok && lastName(s.X) == local {
			for _, id := range field.Names {
				names[id.Name] = true
			}
		}
		return true
	})
	return names
}

// lastName gives the last name of x: b for b and for a.b.
func lastName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

// impure finds what a pure core may not have.
func impure(t *Tree) []Finding {
	outside := []string{"os", "net", "sync", "context", "log", "syscall", "io/fs", "math/rand", "crypto/rand"}
	var bad []Finding
	for _, f := range t.Files {
		if f.Test || f.Dir != "internal/lease" && f.Dir != "internal/policy" {
			continue
		}
		for _, s := range f.AST.Imports {
			p := importPath(s)
			if slices.ContainsFunc(outside, func(o string) bool { return p == o || strings.HasPrefix(p, o+"/") }) {
				bad = append(bad, f.at(s.Pos(), "import %q", p))
			}
		}
		bad = append(bad, f.named("time", "Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker")...)
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				bad = append(bad, f.at(g.Pos(), "go statement"))
			}
			return true
		})
	}
	return bad
}

// vagueNames finds packages and files whose name says nothing.
func vagueNames(t *Tree) []Finding {
	vague := []string{"util", "utils", "common", "helper", "helpers", "manager", "misc"}
	var bad []Finding
	for _, f := range t.Files {
		words := strings.Split(strings.TrimSuffix(path.Base(f.Path), ".go"), "_")
		for _, w := range append(words, f.AST.Name.Name, path.Base(f.Dir)) {
			if slices.Contains(vague, strings.TrimSuffix(w, "_test")) {
				bad = append(bad, f.at(f.AST.Package, "%s says nothing", w))
				break
			}
		}
	}
	return bad
}
