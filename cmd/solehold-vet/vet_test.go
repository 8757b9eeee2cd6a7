package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
	"github.com/solehold/solehold/vet"
)

const planted = "../../vet/testdata/bad"

// bin is where solehold and solehold-vet are built, once for all tests.
var bin string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "solehold-vet")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-buildvcs=false", "-o", dir+"/", ".", "../solehold")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %v\n%s", build, err, out)
		return 1
	}
	bin = dir
	return m.Run()
}

// run runs a command of ours in dir and gives what it printed, and its exit code.
func run(t *testing.T, dir string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, args[0]), args[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// module writes a module with these files.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module bad.example/m\n\ngo 1.26\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// counts gives the findings of each analyzer from what -json prints.
func counts(t *testing.T, out string) map[string]int {
	t.Helper()
	n := map[string]int{}
	for d := json.NewDecoder(strings.NewReader(jsonOnly(out))); d.More(); {
		var tree map[string]map[string][]json.RawMessage
		if err := d.Decode(&tree); err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		for _, pkg := range tree {
			for name, found := range pkg {
				n[name] += len(found)
			}
		}
	}
	return n
}

// jsonOnly leaves out the headings of the go command.
func jsonOnly(out string) string {
	var kept []string
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "#") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// TestEachFindsItsPlantedMistake runs all analyzers over a vendored module with generics, a build tag and tests, that
// makes each mistake once.
func TestEachFindsItsPlantedMistake(t *testing.T) {
	t.Parallel()
	testneed.Linux(t) // some mistakes are system calls of Linux
	out, code := run(t, planted, "solehold-vet", "-json", "./...")
	got := counts(t, out)
	for _, a := range vet.Suite() {
		if got[a.Name] != 1 {
			t.Errorf("%s: %d findings, want 1", a.Name, got[a.Name])
		}
	}
	if len(got) != len(vet.Suite()) || code != 0 { // with -json findings are data, as with go vet
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestCompanion runs it as a user types it, and as the tool of the go command.
func TestCompanion(t *testing.T) {
	t.Parallel()
	testneed.Linux(t)
	out, code := run(t, planted, "solehold", "vet", "./...")
	if code != 1 || !strings.Contains(out, "main.go:20:8: the lock file (locked at main.go:16) is removed") {
		t.Errorf("solehold vet: exit %d\n%s", code, out)
	}
	cmd := exec.Command("go", "vet", "-vettool="+filepath.Join(bin, "solehold-vet"), "./...")
	cmd.Dir = planted
	tool, err := cmd.CombinedOutput()
	if err == nil || !slices.Equal(sorted(string(tool)), sorted(out)) {
		t.Errorf("go vet -vettool: %v\n%s", err, tool)
	}
}

func sorted(s string) []string { return slices.Sorted(strings.Lines(s)) }

func TestOneAnalyzerOnly(t *testing.T) {
	t.Parallel()
	out, code := run(t, planted, "solehold-vet", "-json", "-lockremove", "./...")
	if got := slices.Collect(maps.Keys(counts(t, out))); !slices.Equal(got, []string{"lockremove"}) || code != 0 {
		t.Errorf("exit %d, found by %v\n%s", code, got, out)
	}
}

func TestBuildTag(t *testing.T) {
	t.Parallel()
	out, code := run(t, planted, "solehold-vet", "-locktemp", "-tags", "special", "./...")
	if code != 1 || !strings.Contains(out, "tagged.go:7") || !strings.Contains(out, "main.go:34") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestDoesNotCompile wants the place of the mistake, and no finding that rests on half a package.
func TestDoesNotCompile(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]string{
		"types":  "package m\n\nfunc f() int { return undefined }\n",
		"syntax": "package m\n\nfunc f( {\n",
		"import": "package m\n\nimport _ \"bad.example/none\"\n",
	} {
		out, code := run(t, module(t, map[string]string{"m.go": bad}), "solehold-vet", "./...")
		if code != 1 || !strings.Contains(out, "m.go:3:") || strings.Contains(out, "goroutine") {
			t.Errorf("%s: exit %d\n%s", name, code, out)
		}
	}
}

func TestNoPackages(t *testing.T) {
	t.Parallel()
	out, code := run(t, t.TempDir(), "solehold-vet", "./...")
	if code != 1 || !strings.Contains(out, "main module") {
		t.Errorf("outside a module: exit %d\n%s", code, out)
	}
	if out, code := run(t, module(t, map[string]string{}), "solehold-vet", "./none"); code != 1 || !strings.Contains(out, "none") {
		t.Errorf("no such folder: exit %d\n%s", code, out)
	}
}

const cgo = `package m

// int one(void) { return 1; }
import "C"

import (
	"os"
	"syscall"
)

func take(path string) (*os.File, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return f, syscall.Flock(int(f.Fd()), syscall.LOCK_EX+int(C.one())-1)
}
`

// TestCgo has a file that the go command rewrites before it is read: places are those of the original.
func TestCgo(t *testing.T) {
	testneed.Program(t, "gcc", "apt-get install gcc libc6-dev")
	t.Setenv("CGO_ENABLED", "1")
	out, code := run(t, module(t, map[string]string{"m.go": cgo}), "solehold-vet", "./...")
	if code != 1 || !strings.Contains(out, "m.go:12:") || !strings.Contains(out, "is emptied before the lock") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestFix applies the fixes to a copy, which then compiles and has only what cannot be fixed.
func TestFix(t *testing.T) {
	t.Parallel()
	testneed.Linux(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(planted)); err != nil {
		t.Fatal(err)
	}
	if out, code := run(t, dir, "solehold-vet", "-fix", "./..."); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	out, _ := run(t, dir, "solehold-vet", "-json", "./...")
	got := counts(t, out)
	for _, name := range []string{"lockremove", "locktrunc", "lockcloexec"} {
		if got[name] != 0 {
			t.Errorf("%s is still found", name)
		}
	}
	if want := len(vet.Suite()) - 3; len(got) != want {
		t.Errorf("%d analyzers find something, want %d\n%s", len(got), want, out)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"Exit codes:":                    {"--help"},
		"Find lock mistakes":             {},
		"leaselost":                      {"help"},
		"the file stays":                 {"help", "lockremove"},
		"flag provided but not defined:": {"-nonsense", "./..."},
	} {
		out, code := run(t, planted, append([]string{"solehold-vet"}, args...)...)
		wrong := strings.HasPrefix(want, "flag")
		if !strings.Contains(strings.ToLower(out), strings.ToLower(want)) || (code != 0) != wrong {
			t.Errorf("%v: exit %d, want %q in\n%s", args, code, want, out)
		}
	}
}

func TestNoGoCommand(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	out, code := run(t, planted, "solehold-vet", "./...")
	if code != 64 || !strings.Contains(out, "https://go.dev/dl") {
		t.Errorf("exit %d\n%s", code, out)
	}
}
