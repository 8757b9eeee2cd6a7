package archtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Rule is one house rule.
type Rule struct {
	Name   string                // as an allow comment names it
	Reason string                // printed when the rule is broken
	Find   func(*Tree) []Finding // every place over the limit
	Spare  func(*Tree) int       // how many of them are within the budget; nil means none
}

// Finding is one place that breaks a rule.
type Finding struct {
	Rule string // name of the rule
	Path string // file, or "" if it is about the whole tree
	Line int    // from 1, or 0 if it is about the whole file
	Text string // what is there
}

// String gives the finding as editors read it: path:line: rule: text.
func (f Finding) String() string {
	switch {
	case f.Path == "":
		return fmt.Sprintf("%s: %s", f.Rule, f.Text)
	case f.Line == 0:
		return fmt.Sprintf("%s: %s: %s", f.Path, f.Rule, f.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", f.Path, f.Line, f.Rule, f.Text)
}

// Check gives the findings of r in t that no comment allows, by place, or none if they are within the budget.
func (r Rule) Check(t *Tree) []Finding {
	found := slices.DeleteFunc(r.all(t), func(f Finding) bool { return t.allowed(f) })
	if r.Spare != nil && len(found) <= r.Spare(t) {
		return nil
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	return found
}

// all gives every finding of r, allowed or not.
func (r Rule) all(t *Tree) []Finding {
	found := r.Find(t)
	for i := range found {
		found[i].Rule = r.Name
	}
	return found
}

// Rules gives all house rules.
func Rules() []Rule {
	return slices.Concat(structure(), habits(), documents(), budgets(), []Rule{
		{"allow", "an exception names a rule, gives its reason, and is removed when it is no longer needed", badAllows, nil},
	})
}

func structure() []Rule {
	return []Rule{
		{"imports", "each layer sees only the layers below it", wrongImports, nil},
		{"modules", "a dependency is chosen for one place, not taken everywhere", wrongModules, nil},
		{"blank", "wiring is a list: no import for its side effects, no dot import, no cgo", blankImports, nil},
		{"pure", "a core without goroutine, clock, context and I/O can be searched exhaustively", impure, nil},
		{"name", "a name says what a package or file gives", vagueNames, nil},
	}
}

func habits() []Rule {
	return []Rule{
		{"init", "wiring is a list: nothing happens before main", inits, nil},
		{"sleep", "a test waits for an event, not for a time", sleeps, nil},
		{"skip", "a skipped test says how to get what it needs, and CI skips nothing: use internal/testneed", skips, nil},
		{"exit", "exiting skips every release: only the outermost layer may", exits, nil},
		{"panic", "an error is returned: a panic in a library ends its caller", panics, nil},
		{"params", "five parameters are a struct", manyParams, nil},
	}
}

func documents() []Rule {
	return []Rule{
		{"pkgdoc", "each package says what it is for", packagesWithoutDoc, nil},
		{"doc", "each exported name says what holds afterwards", namesWithoutDoc, nil},
		{"field", "95% of exported fields and interface methods have a comment", fieldsWithoutDoc, share(countFields, 5)},
		{"docnames", "documents name real things", unreal, nil},
		{"verbs", "README shows commands that exist", unknownVerbs, nil},
	}
}

func budgets() []Rule {
	return []Rule{
		{"file-median", "half of the files have at most 150 lines", longFiles(150), beyond(countFiles, .5)},
		{"file", "a file has at most 600 lines", longFiles(600), nil},
		{"func-median", "half of the functions have at most 12 lines", longFuncs(12), beyond(countFuncs, .5)},
		{"func-p90", "nine of ten functions have at most 40 lines", longFuncs(40), beyond(countFuncs, .9)},
		{"func", "a function has at most 90 lines", longFuncs(90), nil},
		{"tests", "tests are at least as long as the code", fewTests, nil},
		{"external", "three of four test files see only the exported names", internalTests, share(countTests, 25)},
		{"vars", "at most one package variable other than errors for 1,000 lines", packageVars, varBudget},
	}
}
