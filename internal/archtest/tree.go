package archtest

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Module is the path that our own imports start with.
const Module = "github.com/solehold/solehold"

// Tree is a source tree, parsed once; all rules read it and none changes it.
type Tree struct {
	Files []*File // Go files, by path
	Texts []Text  // Markdown files and test scripts, by path

	// Fixtures counts the lines of Go files in testdata: what an analyzer must say of them is written in them.
	Fixtures int

	fsys fs.FS
	fset *token.FileSet
}

// File is one Go file of a [Tree].
type File struct {
	Path    string    // from the root of the tree, with slashes
	Dir     string    // of Path; "." is the root package
	AST     *ast.File // with comments, without resolved names
	Lines   int       // as wc counts them
	Test    bool      // the name ends in _test.go
	Counted bool      // budgets apply: neither generated nor left out of every build
	Linux   bool      // Linux compiles it, perhaps with one of our tags
	fset    *token.FileSet
	allows  []allow
}

// Text is a file that is not Go but that a rule reads.
type Text struct {
	Path string // from the root of the tree, with slashes
	Body string // the whole file
}

// Load reads and parses the tree at the root of fsys. A Go file that does not parse is an error.
func Load(fsys fs.FS) (*Tree, error) {
	t := &Tree{fsys: fsys, fset: token.NewFileSet()}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && t.leftOut(p):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		default:
			return t.add(p)
		}
	})
	return t, err
}

// leftOut says whether the directory p is no part of the tree.
func (t *Tree) leftOut(p string) bool {
	switch base := path.Base(p); {
	case p == ".":
		return false
	case base[0] == '.', base[0] == '_', base == "vendor":
		return true
	case p == "bin", p == "data", p == "internal/archtest/testdata":
		return true
	}
	_, err := fs.Stat(t.fsys, path.Join(p, "go.mod"))
	return err == nil
}

// add takes the file p into the tree if a rule reads its kind.
func (t *Tree) add(p string) error {
	fixture := slices.Contains(strings.Split(p, "/"), "testdata")
	switch ext := path.Ext(p); {
	case ext == ".go" && fixture && strings.Contains(path.Dir(p), "."):
		return nil // in vendor/github.com/…: it stands for somebody else's package and tests nothing
	case ext == ".go" && fixture:
		src, err := fs.ReadFile(t.fsys, p)
		t.Fixtures += strings.Count(string(src), "\n")
		return err
	case ext == ".go" && !fixture, ext == ".md" && !fixture, ext == ".txtar" && fixture:
	default:
		return nil
	}
	src, err := fs.ReadFile(t.fsys, p)
	if err != nil {
		return err
	}
	if path.Ext(p) != ".go" {
		t.Texts = append(t.Texts, Text{p, string(src)})
		return nil
	}
	f, err := parse(t.fset, p, string(src))
	t.Files = append(t.Files, f)
	return err
}

func parse(fset *token.FileSet, p, src string) (*File, error) {
	a, err := parser.ParseFile(fset, p, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ignored := strings.Contains(src, "//go:build "+"ignore") // in two parts, or this file would be ignored itself
	f := &File{
		Path: p, Dir: path.Dir(p), AST: a, fset: fset,
		Lines:   strings.Count(src, "\n"),
		Test:    strings.HasSuffix(p, "_test.go"),
		Counted: !ignored && !ast.IsGenerated(a),
		Linux:   onLinux(p, src),
	}
	f.allows = parseAllows(f, src)
	return f, nil
}

// onLinux says whether a build for Linux takes the file: without tags, or with that of the core of other systems.
func onLinux(p, src string) bool {
	c := build.Context{GOOS: "linux", GOARCH: "amd64", Compiler: "gc", OpenFile: func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(src)), nil
	}}
	plain, err := c.MatchFile(path.Split(p))
	c.BuildTags = []string{"solehold_portable"}
	portable, portableErr := c.MatchFile(path.Split(p))
	return plain || portable || err != nil || portableErr != nil
}

// line gives the line of pos.
func (f *File) line(pos token.Pos) int { return f.fset.Position(pos).Line }

// at makes a finding at pos.
func (f *File) at(pos token.Pos, format string, args ...any) Finding {
	return Finding{Path: f.Path, Line: f.line(pos), Text: fmt.Sprintf(format, args...)}
}

// localName gives the name that imp, a package of the standard library, has in f, or "" if f does not import it.
func (f *File) localName(imp string) string {
	for _, s := range f.AST.Imports {
		switch {
		case importPath(s) != imp:
		case s.Name != nil:
			return s.Name.Name
		default:
			return path.Base(imp)
		}
	}
	return ""
}

// uses gives the places where f names one of the given members of package imp.
func (f *File) uses(imp string, names ...string) []*ast.SelectorExpr {
	local := f.localName(imp)
	if local == "" {
		return nil
	}
	var all []*ast.SelectorExpr
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(names, s.Sel.Name) {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == local {
				all = append(all, s)
			}
		}
		return true
	})
	return all
}

// calls gives the calls in f whose function is the bare name fn.
func (f *File) calls(fn string) []*ast.CallExpr {
	var all []*ast.CallExpr
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			if id, ok := c.Fun.(*ast.Ident); ok && id.Name == fn {
				all = append(all, c)
			}
		}
		return true
	})
	return all
}

func importPath(s *ast.ImportSpec) string {
	p, _ := strconv.Unquote(s.Path.Value) // the parser has checked it
	return p
}
