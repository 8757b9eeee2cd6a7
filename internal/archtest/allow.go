package archtest

import (
	"slices"
	"strings"
)

// allow is one exception and the lines that it covers.
type allow struct {
	rule, reason string
	line         int
	from, to     int // both included
}

// parseAllows reads the exceptions of f.
func parseAllows(f *File, src string) []allow {
	lines := strings.Split(src, "\n")
	var all []allow
	for _, g := range f.AST.Comments {
		for _, c := range g.List {
			text, ok := strings.CutPrefix(c.Text, "//archtest:allow")
			if !ok {
				continue
			}
			a := allow{line: f.line(c.Pos()), from: f.line(g.Pos()), to: f.line(g.End()) + 1}
			if before := lines[a.line-1][:f.fset.Position(c.Pos()).Column-1]; strings.TrimSpace(before) != "" {
				a.from, a.to = a.line, a.line
			}
			a.rule, a.reason, _ = strings.Cut(strings.TrimSpace(text), " ")
			all = append(all, a)
		}
	}
	return all
}

// covers says whether a is an exception for x, which lies in the same file.
func (a allow) covers(x Finding) bool {
	return a.rule == x.Rule && a.from <= x.Line && x.Line <= a.to
}

// allowed says whether a comment with a reason allows x.
func (t *Tree) allowed(x Finding) bool {
	i := slices.IndexFunc(t.Files, func(f *File) bool { return f.Path == x.Path })
	return i >= 0 && slices.ContainsFunc(t.Files[i].allows, func(a allow) bool { return a.reason != "" && a.covers(x) })
}

// badAllows finds exceptions that are malformed or not needed.
func badAllows(t *Tree) []Finding {
	found := map[string][]Finding{} // by path
	known := map[string]bool{}
	for _, r := range Rules() {
		known[r.Name] = true
		if r.Name == "allow" {
			continue
		}
		for _, x := range r.all(t) {
			found[x.Path] = append(found[x.Path], x)
		}
	}
	var bad []Finding
	for _, f := range t.Files {
		for _, a := range f.allows {
			if why := a.wrong(known, found[f.Path]); why != "" {
				bad = append(bad, Finding{Path: f.Path, Line: a.line, Text: why})
			}
		}
	}
	return bad
}

// wrong says what is wrong with a, or nothing.
func (a allow) wrong(known map[string]bool, here []Finding) string {
	switch {
	case !known[a.rule]:
		return "no rule is called " + `"` + a.rule + `"`
	case a.reason == "":
		return "the exception from " + a.rule + " gives no reason"
	case !slices.ContainsFunc(here, a.covers):
		return "nothing here breaks " + a.rule + ": remove the exception"
	}
	return ""
}
