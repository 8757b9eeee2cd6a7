package archtest_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/solehold/solehold/internal/archtest"
)

var update = flag.Bool("update", false, "write what was found into testdata")

// TestRepository checks this repository against all rules.
func TestRepository(t *testing.T) {
	tree, err := archtest.Load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(archtest.Figures(tree))
	for _, r := range archtest.Rules() {
		t.Run(r.Name, func(t *testing.T) {
			if found := r.Check(tree); len(found) > 0 {
				t.Errorf("%s\n\t%s", r.Reason, strings.Join(texts(found), "\n\t"))
			}
		})
	}
}

// TestPlanted shows that each rule can fail: it finds what is planted in the tree of its name, and no more.
func TestPlanted(t *testing.T) {
	for _, r := range archtest.Rules() {
		name := filepath.Join("testdata", "bad", r.Name+".txtar")
		if generated[r.Name] {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatalf("every rule has a planted violation: %v", err)
			}
			last := len(a.Files) - 1
			if a.Files[last].Name != "want" {
				t.Fatalf("%s does not end with what is wanted", name)
			}
			want := string(a.Files[last].Data)
			a.Files = a.Files[:last]
			got := strings.Join(texts(r.Check(load(t, a))), "\n") + "\n"
			if got != want && !*update {
				t.Errorf("found\n%swant\n%s", got, want)
			}
			if *update {
				a.Files = append(a.Files, txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestPlantedTreesHaveRules finds a planted tree whose rule was renamed or removed.
func TestPlantedTreesHaveRules(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".txtar")
		if !slices.ContainsFunc(archtest.Rules(), func(r archtest.Rule) bool { return r.Name == name }) {
			t.Errorf("%s: no rule has this name", f)
		}
	}
}

// TestRulesAreDescribed checks what a failure prints.
func TestRulesAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range archtest.Rules() {
		if r.Name == "" || r.Reason == "" || r.Find == nil || strings.Contains(r.Name, " ") {
			t.Errorf("rule %q is incomplete", r.Name)
		}
		if seen[r.Name] {
			t.Errorf("two rules are called %q", r.Name)
		}
		seen[r.Name] = true
	}
}

// load makes a tree of an archive.
func load(t *testing.T, a *txtar.Archive) *archtest.Tree {
	t.Helper()
	fsys, err := txtar.FS(a)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := archtest.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// plant makes a tree of the text of an archive.
func plant(t *testing.T, archive string) *archtest.Tree {
	t.Helper()
	return load(t, txtar.Parse([]byte(archive)))
}

// check gives what the rule called name finds in tree.
func check(t *testing.T, name string, tree *archtest.Tree) []string {
	t.Helper()
	for _, r := range archtest.Rules() {
		if r.Name == name {
			return texts(r.Check(tree))
		}
	}
	t.Fatalf("no rule is called %s", name)
	return nil
}

// expect demands that the rule called name finds exactly want in the archive.
func expect(t *testing.T, name, archive string, want ...string) {
	t.Helper()
	if got := check(t, name, plant(t, archive)); !slices.Equal(got, want) {
		t.Errorf("%s found\n\t%s\nwant\n\t%s\nin\n%s", name, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"), archive)
	}
}

func texts(found []archtest.Finding) []string {
	var all []string
	for _, f := range found {
		all = append(all, f.String())
	}
	return all
}
