package vet_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/solehold/solehold/vet"
)

func names() []string {
	var all []string
	for _, a := range vet.Suite() {
		all = append(all, a.Name)
	}
	return all
}

func TestSuiteIsValid(t *testing.T) {
	if err := analysis.Validate(vet.Suite()); err != nil {
		t.Error(err)
	}
	if all := names(); !slices.IsSorted(all) {
		t.Errorf("not by name: %v", all)
	}
}

// TestEachFolderIsInTheSuite finds an analyzer that nobody runs.
func TestEachFolderIsInTheSuite(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, e := range entries {
		if e.IsDir() && !slices.Contains([]string{"internal", "plugin", "testdata"}, e.Name()) {
			folders = append(folders, e.Name())
		}
	}
	if all := names(); !slices.Equal(folders, all) {
		t.Errorf("folders %v\nsuite %v", folders, all)
	}
}

// TestTextsShowWrongAndRight reads what help prints.
func TestTextsShowWrongAndRight(t *testing.T) {
	for _, a := range vet.Suite() {
		first, _, _ := strings.Cut(a.Doc, "\n")
		if !strings.HasPrefix(first, a.Name+": reports ") {
			t.Errorf("%s begins with %q", a.Name, first)
		}
		wrong, right := strings.Index(a.Doc, "\nWRONG\n\n\t"), strings.Index(a.Doc, "\nRIGHT\n\n\t")
		if wrong < 0 || right < wrong {
			t.Errorf("%s: the text must show WRONG and then RIGHT:\n%s", a.Name, a.Doc)
		}
	}
}

// TestSurveyNamesEach keeps docs/vet-survey.md complete.
func TestSurveyNamesEach(t *testing.T) {
	b, err := os.ReadFile("../docs/vet-survey.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names() {
		if !strings.Contains(string(b), "`"+name+"`") {
			t.Errorf("docs/vet-survey.md says nothing of %s", name)
		}
	}
}
