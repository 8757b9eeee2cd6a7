package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// longFiles finds files of code with more lines than limit.
func longFiles(limit int) func(*Tree) []Finding {
	return func(t *Tree) []Finding {
		var bad []Finding
		for _, f := range t.code() {
			if f.Lines > limit {
				bad = append(bad, f.at(f.AST.Package, "%d lines", f.Lines))
			}
		}
		return bad
	}
}

// longFuncs finds functions outside tests with more lines than limit.
func longFuncs(limit int) func(*Tree) []Finding {
	return func(t *Tree) []Finding {
		var bad []Finding
		for _, f := range t.code() {
			for _, d := range f.funcs() {
				if n := f.length(d); n > limit {
					bad = append(bad, f.at(d.Pos(), "%s has %d lines", d.Name.Name, n))
				}
			}
		}
		return bad
	}
}

// length gives the lines of a function, 0 if it has no body.
func (f *File) length(d *ast.FuncDecl) int {
	if d.Body == nil {
		return 0
	}
	return f.line(d.End()) - f.line(d.Pos()) + 1
}

// code gives the files that budgets count as code.
func (t *Tree) code() []*File {
	return filter(t.Files, func(f *File) bool { return f.Counted && !f.Test })
}

// testFiles gives the files that budgets count as tests.
func (t *Tree) testFiles() []*File {
	return filter(t.Files, func(f *File) bool { return f.Counted && f.Test })
}

func filter(files []*File, keep func(*File) bool) []*File {
	return slices.DeleteFunc(slices.Clone(files), func(f *File) bool { return !keep(f) })
}

func countFiles(t *Tree) int { return len(t.code()) }
func countTests(t *Tree) int { return len(t.testFiles()) }
func countFuncs(t *Tree) int { return len(t.funcLengths()) }

func (t *Tree) funcLengths() []int {
	var all []int
	for _, f := range t.code() {
		for _, d := range f.funcs() {
			if d.Body != nil {
				all = append(all, f.length(d))
			}
		}
	}
	return all
}

func fileLengths(files []*File) (lengths []int, sum int) {
	for _, f := range files {
		lengths = append(lengths, f.Lines)
		sum += f.Lines
	}
	return lengths, sum
}

// share makes a budget of percent in 100.
func share(count func(*Tree) int, percent int) func(*Tree) int {
	return func(t *Tree) int { return count(t) * percent / 100 }
}

// beyond makes a budget of the places beyond the quantile p.
func beyond(count func(*Tree) int, p float64) func(*Tree) int {
	return func(t *Tree) int {
		last := count(t) - 1
		return max(0, last-int(p*float64(last)))
	}
}

// suites are packages that only tests use.
func suites() []string {
	return []string{"cluster/clustertest", "vet/internal/vettest", "internal/testneed", "internal/servers", "internal/testsystemd"}
}

// experiments counts the lines of functions that give an Experiment of internal/lab. Each is what is expected and the steps
// to it, which a test runs as it runs the cases of a table.
func experiments(t *Tree) (lines int) {
	for _, f := range t.code() {
		for _, d := range f.funcs() {
			if r := d.Type.Results; f.Dir == "internal/lab" && d.Recv == nil && d.Type.Params.NumFields() == 0 && r.NumFields() == 1 && lastName(r.List[0].Type) == "Experiment" {
				lines += f.length(d)
			}
		}
	}
	return lines
}

// testLines counts what tests: test files, scripts, fixtures of analyzers, experiments, and the packages that only tests use.
// What Linux does not compile is left out on both sides: little of it can be run where the tests run.
func testLines(t *Tree) (test, code int) {
	here := func(f *File) bool { return f.Linux }
	_, code = fileLengths(filter(t.code(), here))
	_, test = fileLengths(filter(t.testFiles(), here))
	_, suite := fileLengths(filter(t.code(), func(f *File) bool { return slices.Contains(suites(), f.Dir) }))
	suite += experiments(t)
	for _, x := range t.Texts {
		if strings.HasSuffix(x.Path, ".txtar") {
			test += strings.Count(x.Body, "\n")
		}
	}
	return test + suite + t.Fixtures, code - suite
}

// fewTests finds that the tests are shorter than the code.
func fewTests(t *Tree) []Finding {
	test, code := testLines(t)
	if test >= code {
		return nil
	}
	return []Finding{{Text: fmt.Sprintf("%d lines of tests for %d lines of code", test, code)}}
}

// internalTests finds test files inside the package that they test.
func internalTests(t *Tree) []Finding {
	var bad []Finding
	for _, f := range t.testFiles() {
		if !strings.HasSuffix(f.AST.Name.Name, "_test") {
			bad = append(bad, f.at(f.AST.Package, "a test inside package %s", f.AST.Name.Name))
		}
	}
	return bad
}

// varBudget allows one variable for 1,000 lines of code.
func varBudget(t *Tree) int {
	_, code := fileLengths(t.code())
	return code / 1000
}

// packageVars finds package variables. Errors, assertions and embedded files do not count.
func packageVars(t *Tree) []Finding {
	var bad []Finding
	for _, f := range t.code() {
		f.specs(func(d *ast.GenDecl, s ast.Spec) {
			v, ok := s.(*ast.ValueSpec)
			if !ok || d.Tok != token.VAR || embedded(d.Doc) || embedded(v.Doc) {
				return
			}
			for _, id := range v.Names {
				if id.Name != "_" && !strings.HasPrefix(strings.ToLower(id.Name), "err") {
					bad = append(bad, f.at(id.Pos(), "var %s", id.Name))
				}
			}
		})
	}
	return bad
}

func embedded(g *ast.CommentGroup) bool {
	return g != nil && slices.ContainsFunc(g.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// Figures gives the sizes that the budgets are about in one line.
func Figures(t *Tree) string {
	files, _ := fileLengths(t.code())
	test, code := testLines(t)
	funcs := t.funcLengths()
	names, fields := t.collect((*File).exported), t.collect((*File).fields)
	return fmt.Sprintf("code %d test %d (%.2f)  file p50 %d max %d  func p50 %d p90 %d max %d  doc %s field %s  external %s  vars %d",
		code, test, float64(test)/float64(max(code, 1)), quantile(files, .5), quantile(files, 1),
		quantile(funcs, .5), quantile(funcs, .9), quantile(funcs, 1),
		percent(len(names)-len(undocumented(names)), len(names)), percent(len(fields)-len(undocumented(fields)), len(fields)),
		percent(countTests(t)-len(internalTests(t)), countTests(t)), len(packageVars(t)))
}

func quantile(x []int, p float64) int {
	if len(x) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(x))[int(p*float64(len(x)-1))]
}

func percent(a, b int) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%d%%", a*100/b)
}
