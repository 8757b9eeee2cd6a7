package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
)

// block is a fenced block of a page.
type block struct{ kind, text string }

// blocks takes a page apart.
func blocks(t *testing.T, path string) (all []block) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		all = append(all, block{m[1], m[2]})
	}
	return all
}

// shown is a pattern for a line of output as a page shows it: numbers are examples,
// and … is anything.
func shown(line string) *regexp.Regexp {
	var b strings.Builder
	for _, piece := range regexp.MustCompile(`\d+|…|[^\d…]+`).FindAllString(line, -1) {
		switch {
		case piece == "…":
			b.WriteString(".*")
		case piece[0] >= '0' && piece[0] <= '9':
			b.WriteString(`\d+`)
		default:
			b.WriteString(regexp.QuoteMeta(piece))
		}
	}
	return regexp.MustCompile("(?m)^" + b.String() + "$")
}

// Each page of docs/adopt and docs/from is done as it is written: its commands
// end well, and print what it says. (docs/adopt/systemd.md: internal/realtest.)
func TestPages(t *testing.T) {
	adopt, _ := filepath.Glob("../../docs/adopt/*.md")
	from, _ := filepath.Glob("../../docs/from/*.md")
	if len(adopt) < 8 || len(from) < 5 {
		t.Fatal(adopt, from)
	}
	for _, path := range append(adopt, from...) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			if filepath.Base(path) != "systemd.md" {
				testneed.Root(t) // as the texts show it, and for namespaces
				follow(t, blocks(t, path))
			}
		})
	}
}

// follow runs the commands in a directory of their own.
func follow(t *testing.T, all []block) {
	t.Helper()
	dir, ran := t.TempDir(), false
	t.Cleanup(func() { sweep(dir) })
	for i, b := range all {
		switch b.kind {
		case "go":
			buildService(t, dir, b.text)
		case "sh":
			ran = true
			out := sh(t, dir, b.text)
			if i+1 == len(all) || all[i+1].kind != "text" {
				continue
			}
			for line := range strings.Lines(all[i+1].text) {
				if !shown(strings.TrimSuffix(line, "\n")).MatchString(out) {
					t.Errorf("no line %q in\n%s", line, out)
				}
			}
		}
	}
	if !ran {
		t.Error("a page without a command")
	}
}

func sh(t *testing.T, dir, script string) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out")) // what stays in the background has no pipe of ours
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c := exec.Command("timeout", "120", "sh", "-euc", script) // a page that waits for ever is wrong
	c.Dir, c.Stdout, c.Stderr = dir, file, file
	c.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir+"/state", "TZ=UTC")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = c.Run()
	out, _ := os.ReadFile(file.Name())
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return strings.ReplaceAll(string(out), "\r", "")
}

// buildService makes the program of a page, with this library.
func buildService(t *testing.T, dir, text string) {
	t.Helper()
	path := filepath.Join(dir, "main.go")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "service"), path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
