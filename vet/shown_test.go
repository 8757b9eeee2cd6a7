package vet_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/solehold/solehold/vet"
)

// TestTextsAreTrue compiles what the texts show, line by line: what is shown as wrong is reported, and what is shown as
// right is not.
func TestTextsAreTrue(t *testing.T) {
	t.Parallel()
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var pkgs []string
	for _, a := range vet.Suite() {
		_, after, _ := strings.Cut(a.Doc, "\nWRONG\n")
		wrong, right, _ := strings.Cut(after, "\nRIGHT\n")
		for kind, text := range map[string]string{"wrong": wrong, "right": right} {
			pkgs = append(pkgs, "shown/"+a.Name+"/"+kind)
			shown(t, text, filepath.Join(dir, "src", "shown", a.Name, kind, "a.go"), kind == "wrong")
		}
	}
	analysistest.Run(t, dir, byFolder(), pkgs...)
}

// byFolder runs on each package the analyzer that its folder names: so all of them are loaded once.
func byFolder() *analysis.Analyzer {
	all := &analysis.Analyzer{Name: "byfolder", Doc: "runs the analyzer that the folder names"}
	for _, a := range vet.Suite() {
		all.Requires = append(all.Requires, a.Requires...)
	}
	all.Run = func(p *analysis.Pass) (any, error) {
		i := slices.IndexFunc(vet.Suite(), func(a *analysis.Analyzer) bool { return strings.HasPrefix(p.Pkg.Path(), "shown/"+a.Name+"/") })
		one := *p
		one.Analyzer = vet.Suite()[i]
		return one.Analyzer.Run(&one)
	}
	return all
}

// shown checks that a file has each line of code that a text shows, in this order, and wants reports or none.
func shown(t *testing.T, text, file string, wanted bool) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	left := strings.Split(string(b), "\n")
	for line := range strings.Lines(text) {
		want := code(line)
		if !strings.HasPrefix(line, "\t") || want == "" || want == "..." {
			continue
		}
		for len(left) > 0 && code(left[0]) != want {
			left = left[1:]
		}
		if len(left) == 0 {
			t.Errorf("%s does not have, in its place, what the text shows: %s", file, want)
			return
		}
		left = left[1:]
	}
	if strings.Contains(string(b), "// want ") != wanted {
		t.Errorf("%s: reports wanted: %t expected", file, wanted)
	}
}

// code is a line without its comment.
func code(line string) string {
	line, _, _ = strings.Cut(line, " //")
	return strings.TrimSpace(line)
}
