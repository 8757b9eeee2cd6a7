package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// ident is one exported name.
type ident struct {
	file *File
	pos  token.Pos
	name string
	doc  bool
}

// packagesWithoutDoc finds packages none of whose files has a doc comment.
func packagesWithoutDoc(t *Tree) []Finding {
	first, doc := map[string]*File{}, map[string]bool{}
	for _, f := range t.Files {
		if f.Test || !f.Counted {
			continue
		}
		if first[f.Dir] == nil {
			first[f.Dir] = f
		}
		if f.AST.Doc != nil && f.AST.Doc.Text() != "" && !strings.Contains(f.AST.Doc.Text(), "Copyright") {
			doc[f.Dir] = true
		}
	}
	var bad []Finding
	for dir, f := range first {
		if !doc[dir] {
			bad = append(bad, f.at(f.AST.Package, "package %s has no doc comment", f.AST.Name.Name))
		}
	}
	return bad
}

// namesWithoutDoc finds exported names without a comment.
func namesWithoutDoc(t *Tree) []Finding { return undocumented(t.collect((*File).exported)) }

// fieldsWithoutDoc finds exported fields and interface methods without a comment.
func fieldsWithoutDoc(t *Tree) []Finding { return undocumented(t.collect((*File).fields)) }

func countFields(t *Tree) int { return len(t.collect((*File).fields)) }

func undocumented(all []ident) []Finding {
	var bad []Finding
	for _, x := range all {
		if !x.doc {
			bad = append(bad, x.file.at(x.pos, "%s has no comment", x.name))
		}
	}
	return bad
}

// collect gathers names from the files that others can import.
func (t *Tree) collect(from func(*File) []ident) []ident {
	var all []ident
	for _, f := range t.Files {
		if !f.Test && f.Counted && f.AST.Name.Name != "main" {
			all = append(all, from(f)...)
		}
	}
	return all
}

// exported gives functions, methods of exported types, types, constants and variables.
func (f *File) exported() []ident {
	var all []ident
	add := func(id *ast.Ident, docs ...*ast.CommentGroup) {
		if id.IsExported() {
			doc := slices.ContainsFunc(docs, func(g *ast.CommentGroup) bool { return g.Text() != "" })
			all = append(all, ident{f, id.Pos(), id.Name, doc})
		}
	}
	for _, d := range f.funcs() {
		if d.Recv == nil || receiver(d.Recv.List[0].Type).IsExported() {
			add(d.Name, d.Doc)
		}
	}
	f.specs(func(d *ast.GenDecl, s ast.Spec) {
		switch s := s.(type) {
		case *ast.TypeSpec:
			add(s.Name, s.Doc, d.Doc)
		case *ast.ValueSpec:
			for _, id := range s.Names {
				add(id, s.Doc, s.Comment, d.Doc)
			}
		}
	})
	return all
}

// fields gives the exported fields and methods of exported structs and interfaces.
func (f *File) fields() []ident {
	var all []ident
	f.specs(func(_ *ast.GenDecl, s ast.Spec) {
		typ, ok := s.(*ast.TypeSpec)
		if !ok || !typ.Name.IsExported() {
			return
		}
		for _, x := range members(typ.Type) {
			for _, id := range x.Names {
				if id.IsExported() {
					all = append(all, ident{f, id.Pos(), typ.Name.Name + "." + id.Name, x.Doc.Text()+x.Comment.Text() != ""})
				}
			}
		}
	})
	return all
}

func members(x ast.Expr) []*ast.Field {
	switch x := x.(type) {
	case *ast.StructType:
		return x.Fields.List
	case *ast.InterfaceType:
		return x.Methods.List
	}
	return nil
}

// funcs gives the functions and methods of f.
func (f *File) funcs() []*ast.FuncDecl {
	var all []*ast.FuncDecl
	for _, d := range f.AST.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			all = append(all, d)
		}
	}
	return all
}

// specs calls do for each declared type, constant and variable of the package in f.
func (f *File) specs(do func(*ast.GenDecl, ast.Spec)) {
	for _, d := range f.AST.Decls {
		if d, ok := d.(*ast.GenDecl); ok {
			for _, s := range d.Specs {
				do(d, s)
			}
		}
	}
}

// receiver gives the name of a method's receiver type.
func receiver(x ast.Expr) *ast.Ident {
	for {
		switch y := x.(type) {
		case *ast.StarExpr:
			x = y.X
		case *ast.ParenExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		case *ast.IndexListExpr:
			x = y.X
		case *ast.Ident:
			return y
		default:
			return ast.NewIdent("_")
		}
	}
}
