package archtest

import (
	"go/ast"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// span is a piece of code in a Markdown file.
type span struct {
	line   int
	text   string
	fenced bool // one line of a fenced block, not a word in a sentence
}

// codeSpans gives the code in a Markdown text.
func codeSpans(body string) []span {
	var all []span
	fenced := false
	for i, line := range strings.Split(body, "\n") {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			fenced = !fenced
		case fenced:
			all = append(all, span{i + 1, line, true})
		default:
			for j, part := range strings.Split(line, "`") {
				if j%2 == 1 {
					all = append(all, span{i + 1, part, false})
				}
			}
		}
	}
	return all
}

// unreal finds paths and exported names in documents that are not in the tree.
func unreal(t *Tree) []Finding {
	var bad []Finding
	for _, x := range t.Texts {
		if x.Path != "ARCHITECTURE.md" && x.Path != "CONTRIBUTING.md" {
			continue
		}
		for _, s := range codeSpans(x.Body) {
			if !s.fenced && (looksLikePath(s.text) && !t.hasPath(s.text) || t.lacksName(s.text)) {
				bad = append(bad, Finding{Path: x.Path, Line: s.line, Text: s.text + " does not exist"})
			}
		}
	}
	return bad
}

// looksLikePath says whether s could only be a path of this repository.
func looksLikePath(s string) bool {
	first, _, slash := strings.Cut(s, "/")
	switch {
	case !regexp.MustCompile(`^\.?[A-Za-z0-9][\w./*{},-]*$`).MatchString(s):
		return false
	case !slash:
		return path.Ext(s) == ".go" || path.Ext(s) == ".md"
	case strings.LastIndex(first, ".") > 0, first == ".solehold": // a module; a file of a data directory
		return false
	}
	foreign := strings.Fields("archive compress container crypto database debug encoding errors go hash html io log math mime net os path" +
		" runtime sync testing text time unicode linux darwin windows freebsd wasip1") // standard library and platforms
	return !slices.Contains(foreign, first)
}

// hasPath says whether s names a file or directory: by its path, by a pattern, or by its base name alone.
func (t *Tree) hasPath(s string) bool {
	if !strings.Contains(s, "/") && slices.ContainsFunc(t.Files, func(f *File) bool { return path.Base(f.Path) == s }) {
		return true
	}
	for _, p := range braces(strings.TrimSuffix(strings.TrimSuffix(s, "/..."), "/")) {
		if m, err := fs.Glob(t.fsys, p); err != nil || len(m) == 0 {
			return false
		}
	}
	return true
}

// braces gives all readings of a{b,c}d.
func braces(s string) []string {
	before, rest, ok := strings.Cut(s, "{")
	inside, after, ok2 := strings.Cut(rest, "}")
	if !ok || !ok2 {
		return []string{s}
	}
	var all []string
	for in := range strings.SplitSeq(inside, ",") {
		all = append(all, braces(before+in+after)...)
	}
	return all
}

// lacksName says whether s is pkg.Name, where pkg is a package of the tree that does not declare Name.
func (t *Tree) lacksName(s string) bool {
	m := regexp.MustCompile(`^([a-z][a-z0-9]*)\.([A-Z]\w*)(\.\w+)?(\(\))?$`).FindStringSubmatch(s)
	if m == nil {
		return false
	}
	known := false
	for _, f := range t.code() {
		if f.AST.Name.Name != m[1] {
			continue
		}
		known = true
		if slices.ContainsFunc(f.exported(), func(x ident) bool { return x.name == m[2] }) {
			return false
		}
	}
	return known
}

// unknownVerbs finds commands in README.md that internal/cli does not have.
func unknownVerbs(t *Tree) []Finding {
	verb := regexp.MustCompile(`(?:^|[\s$(;|&/])solehold ([a-z][a-z-]*)`)
	known := t.verbs()
	var bad []Finding
	for _, x := range t.Texts {
		if x.Path != "README.md" || known == nil {
			continue
		}
		for _, s := range codeSpans(x.Body) {
			for _, m := range verb.FindAllStringSubmatch(s.text, -1) {
				if !known[m[1]] {
					bad = append(bad, Finding{Path: x.Path, Line: s.line, Text: "no command solehold " + m[1]})
				}
			}
		}
	}
	return bad
}

// verbs gives the commands by their Use fields and by the companions' names, or nil while there is no internal/cli.
func (t *Tree) verbs() map[string]bool {
	if !slices.ContainsFunc(t.Files, func(f *File) bool { return f.Dir == "internal/cli" }) {
		return nil
	}
	known := map[string]bool{"help": true, "completion": true} // cobra's own
	for _, f := range t.code() {
		if x, ok := strings.CutPrefix(f.Dir, "cmd/solehold-"); ok {
			known[x] = true
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if kv, ok := n.(*ast.KeyValueExpr); ok && lastName(kv.Key) == "Use" {
				word, _, _ := strings.Cut(leftString(kv.Value), " ")
				known[word] = true
			}
			return true
		})
	}
	return known
}

// leftString gives the string literal that x starts with.
func leftString(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.BinaryExpr:
		return leftString(x.X)
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			s, _ := strconv.Unquote(x.Value) // the parser has checked it
			return s
		}
	}
	return ""
}
