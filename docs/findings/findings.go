// Package findings holds one page for each finding of `solehold doctor`: what
// was seen, why it matters, what to do. The pages are read here, on the web and
// by `solehold doctor explain`, from the same files.
package findings

import (
	"embed"
	"strings"
)

//go:embed SH*.md
var pages embed.FS

// IDs returns the ids of all findings, in order.
func IDs() []string {
	entries, err := pages.ReadDir(".")
	if err != nil {
		return nil
	}
	ids := make([]string, 0, len(entries)) // ReadDir sorts them
	for _, e := range entries {
		ids = append(ids, strings.TrimSuffix(e.Name(), ".md"))
	}
	return ids
}

// Page returns the page of a finding, in Markdown; false for an id that there is
// none of.
func Page(id string) (string, bool) {
	text, err := pages.ReadFile(id + ".md")
	return string(text), err == nil
}

// Title returns the first line of a page without its id; empty for an unknown one.
func Title(id string) string {
	page, _ := Page(id)
	first, _, _ := strings.Cut(page, "\n")
	return strings.TrimPrefix(strings.TrimPrefix(first, "# "), id+": ")
}
