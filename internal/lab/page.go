package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const pageWidth = 120

// Pages gives the text of each file of docs/lab by its name: a page for each experiment, and README.md, which lists them.
func Pages(all []Experiment) map[string]string {
	pages := map[string]string{"README.md": index(all)}
	for i := range all {
		pages[all[i].Name+".md"] = all[i].page()
	}
	return pages
}

func index(all []Experiment) string {
	var b strings.Builder
	b.WriteString("# The lab\n\n" + wrap("Claims about locks that are believed and wrong, and the classic failures, each as an experiment "+
		"that runs on your machine: `solehold lab` runs all of them, `solehold lab NAME` one, `solehold lab list` names them. They start real processes on real files in a "+
		"temporary directory, mount and count pids only in namespaces of their own, and leave nothing behind. Each is also a test.", "", pageWidth) +
		"\n\n| experiment | about | needs |\n| --- | --- | --- |\n")
	for i := range all {
		e := &all[i]
		fmt.Fprintf(&b, "| [`%s`](%s.md) | %s | %s |\n", e.Name, e.Name, e.Title, e.needText("nothing"))
	}
	b.WriteString("\nThese pages are written by `make lab-pages` from the texts of the experiments.\n")
	return b.String()
}

func (e *Experiment) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n", e.Name, e.Title)
	for _, part := range [][2]string{{"What is believed", e.Believed}, {"What happens", e.Happens}, {"What to do", e.Advice}} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", part[0], wrap(part[1], "", pageWidth))
	}
	b.WriteString("\n## See it\n\n```\nsolehold lab " + e.Name + "\n```\n\n| measured | comes out as |\n| --- | --- |\n")
	for _, f := range e.Facts {
		want := f.Want
		if want == "" {
			want = "(differs from run to run)"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", f.What, want)
	}
	if need := e.needText(""); need != "" {
		fmt.Fprintf(&b, "\n%s\n", wrap("It needs "+need+".", "", pageWidth))
	}
	return b.String()
}

func (e *Experiment) needText(nothing string) string {
	var all []string
	for _, n := range e.needs {
		all = append(all, n.what)
	}
	if len(all) == 0 {
		return nothing
	}
	return strings.Join(all, "; ")
}

// writePages writes the pages into a directory that exists.
func writePages(dir string, all []Experiment) error {
	for name, text := range Pages(all) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// wrap breaks text into lines of at most width bytes, each but the first with indent before it.
func wrap(text, indent string, width int) string {
	var b strings.Builder
	at := len(indent)
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case at+1+len(word) > width:
			b.WriteString("\n" + indent)
			at = len(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	return b.String()
}
