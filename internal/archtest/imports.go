package archtest

import (
	"path"
	"slices"
	"strings"
)

// wrongImports finds imports of ours that the table does not have, and packages without a row.
func wrongImports(t *Tree) []Finding {
	table := layers()
	told := map[string]bool{}
	var bad []Finding
	for _, f := range t.Files {
		row := rowOf(table, f.Dir)
		if row == nil {
			if !told[f.Dir] {
				bad = append(bad, f.at(f.AST.Package, "package %s has no row: add a row to internal/archtest/layers.go", f.Dir))
			}
			told[f.Dir] = true
			continue
		}
		for _, s := range f.AST.Imports {
			if p, ours := ourPath(importPath(s)); ours && !row.takesOurs(f, p) {
				bad = append(bad, f.at(s.Pos(), "%s may not import %s: %s", f.Dir, p, row.why))
			}
		}
	}
	return bad
}

// wrongModules finds imports of other modules that the table does not have.
func wrongModules(t *Tree) []Finding {
	table := layers()
	var bad []Finding
	for _, f := range t.Files {
		row := rowOf(table, f.Dir)
		for _, s := range f.AST.Imports {
			p := importPath(s)
			if _, ours := ourPath(p); ours || isStandard(p) {
				continue
			}
			if row == nil || !row.takesModule(f, p) {
				bad = append(bad, f.at(s.Pos(), "%s may not import %s", f.Dir, p))
			}
		}
	}
	return bad
}

// rowOf gives the row for the package in dir, or nil.
func rowOf(table []layer, dir string) *layer {
	i := slices.IndexFunc(table, func(l layer) bool {
		ok, _ := path.Match(l.place, dir) // the patterns are constants
		return ok
	})
	if i < 0 {
		return nil
	}
	return &table[i]
}

// ourPath cuts the module from an import path; the root package is ".".
func ourPath(p string) (string, bool) {
	if p == Module {
		return ".", true
	}
	return strings.CutPrefix(p, Module+"/")
}

// isStandard says whether p is in the standard library: the first element of other paths is a host name.
func isStandard(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return !strings.Contains(first, ".")
}

func (l *layer) takesOurs(f *File, p string) bool {
	if takes(l.ours, p) {
		return true
	}
	return f.Test && (p == f.Dir || p == "internal/testneed" || takes(l.tests, p))
}

func (l *layer) takesModule(f *File, p string) bool {
	in := func(m string) bool { return p == m || strings.HasPrefix(p, m+"/") }
	return slices.ContainsFunc(l.third, in) || f.Test && slices.ContainsFunc(l.tests, in)
}

// takes says whether the list of packages has p.
func takes(list []string, p string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		below, tree := strings.CutSuffix(pattern, "/...")
		return p == below || tree && strings.HasPrefix(p, below+"/")
	})
}

// blankImports finds imports that have a side effect only, dot imports and cgo.
func blankImports(t *Tree) []Finding {
	var bad []Finding
	for _, f := range t.Files {
		example := f.AST.Name.Name == "main" && strings.HasPrefix(f.Dir, "examples/")
		for _, s := range f.AST.Imports {
			name, p := "", importPath(s)
			if s.Name != nil {
				name = s.Name.Name
			}
			// The go command demands the blank import of embed for a //go:embed string; it has no effect of its own.
			if p == "C" || name == "." || name == "_" && !example && p != "embed" {
				bad = append(bad, f.at(s.Pos(), "import %s %q", name, p))
			}
		}
	}
	return bad
}
