package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rootVerb is the verb of `root` with what it needs after the base, and no notes
// outside of the test's own folder.
func rootVerb(t *testing.T, verb, base string, more ...string) []string {
	t.Helper()
	words := []string{"root", verb, base}
	switch verb {
	case "new":
		words = append(words, "kb", "--pins", filepath.Join(t.TempDir(), "pins"))
	case "path":
		words = append(words, "kb")
	}
	return append(words, more...)
}

// rootEnds reaches each code that the help of a verb of root promises, of those
// that look at the base.
func rootEnds(verb string) map[int]reached {
	return map[int]reached{
		0:  func(t *testing.T) int { return ask(rootVerb(t, verb, dataDir(t))...).code },
		64: func(*testing.T) int { return ask("root", verb).code },
		74: func(t *testing.T) int {
			needFuse(t)
			base := dataDir(t)
			return program(t, "hung", append([]string{base, "solehold"}, rootVerb(t, verb, base, "--timeout", "100ms")...)...).code
		},
		77: func(t *testing.T) int {
			base := dataDir(t)
			must(t, os.Chmod(base, 0))
			return program(t, "nobody", append([]string{"solehold"}, rootVerb(t, verb, base)...)...).code
		},
		78: func(t *testing.T) int { return nowhere(t, verb) },
	}
}

// nowhere asks where a system says nothing that could be a base.
func nowhere(t *testing.T, verb string) int {
	t.Helper()
	return program(t, "env", append([]string{"STATE_DIRECTORY=relative", "solehold"}, rootVerb(t, verb, "state")...)...).code
}

func rootListEnds() map[int]reached {
	ends := rootEnds("list")
	ends[73] = func(t *testing.T) int { return ask("root", "list", filepath.Join(dataDir(t), "missing")).code }
	return ends
}

func rootGCEnds() map[int]reached {
	ends := rootEnds("gc")
	ends[73] = few("root", "gc", "base") // what is no directory is refused
	return ends
}

func rootNewEnds() map[int]reached {
	ends := rootEnds("new")
	ends[73] = func(t *testing.T) int {
		base := dataDir(t)
		must(t, os.WriteFile(filepath.Join(base, "kb"), nil, 0o600))
		return ask(rootVerb(t, "new", base)...).code
	}
	ends[75] = func(t *testing.T) int {
		base := dataDir(t)
		if r := ask(rootVerb(t, "new", base)...); r.code != 0 {
			t.Fatalf("%+v", r)
		}
		hold(t, filepath.Join(base, "kb"), "sleep", "300")
		return ask(rootVerb(t, "new", base)...).code
	}
	return ends
}

func rootPathEnds() map[int]reached {
	ends := rootEnds("path")
	ends[73] = few("root", "path", "base", "kb")
	delete(ends, 74)
	delete(ends, 77)
	return ends
}

// The base that hangs keeps no verb of root waiting, and where nothing is asked of
// it there is an answer.
func TestRootPathAsksNoDisk(t *testing.T) {
	t.Parallel()
	needFuse(t)
	base := dataDir(t)
	r := program(t, "hung", base, "solehold", "root", "path", base, "kb")
	if r.code != 0 || r.stdout != filepath.Join(base, "kb")+"\n" {
		t.Errorf("%+v", r)
	}
}

// A program hears in JSON what a person reads: who has a root, and what became of
// it.
func TestRootJSON(t *testing.T) {
	t.Parallel()
	base := dataDir(t)
	for _, flags := range [][]string{{"stays"}, {"used"}, {"gone", "--ephemeral"}} {
		r := ask(append([]string{"root", "new", "--json", "--pins", filepath.Join(t.TempDir(), "pins"), base}, flags...)...)
		if r.code != 0 {
			t.Fatalf("%+v", r)
		}
		fields(t, object(t, r.stdout), map[string]any{"name": "", "uuid": "", "born": "", "path": ""})
	}
	hold(t, filepath.Join(base, "used"), "sleep", "300")
	for verb, want := range map[string]map[string]map[string]any{
		"list": {"stays": {"state": "FREE"}, "used": {"state": "HELD"}, "gone": {"state": "FREE", "ephemeral": true}},
		"gc":   {"stays": {"state": "FREE", "kept": "it is to stay"}, "used": {"state": "HELD"}, "gone": {"state": nil, "removed": true}},
	} {
		r := ask("root", verb, "--json", base)
		if r.code != 0 || strings.Count(r.stdout, "\n") != len(want) {
			t.Fatalf("%s: %+v", verb, r)
		}
		for line := range strings.Lines(r.stdout) {
			m := object(t, line)
			equal(t, m, want[m["name"].(string)])
		}
	}
}
