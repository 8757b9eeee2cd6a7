package lab_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/lab"
	"github.com/solehold/solehold/internal/testneed"
)

// results reads one object a line.
func results(t *testing.T, text string) (all []lab.Result) {
	t.Helper()
	for line := range strings.Lines(text) {
		var r lab.Result
		must(t, json.Unmarshal([]byte(line), &r))
		all = append(all, r)
	}
	return all
}

func TestList(t *testing.T) {
	t.Parallel()
	got := call(t, nil, "list")
	if got.code != 0 || got.stderr != "" {
		t.Errorf("code %d, %q", got.code, got.stderr)
	}
	asJSON := call(t, nil, "list", "--json")
	lines := strings.Split(strings.TrimSpace(asJSON.stdout), "\n")
	if len(lines) != len(lab.All()) {
		t.Fatalf("%d lines for %d experiments", len(lines), len(lab.All()))
	}
	for i, e := range lab.All() {
		var row struct {
			Name, Title string
			Needs       []string
		}
		must(t, json.Unmarshal([]byte(lines[i]), &row))
		if row.Name != e.Name || row.Title != e.Title || row.Needs == nil {
			t.Errorf("%s: %+v", e.Name, row)
		}
		wantIn(t, got.stdout, e.Name+" ", e.Title)
	}
}

// One experiment: the claim, what was measured, what to do, and a verdict; exit code 0.
func TestOneExperiment(t *testing.T) {
	t.Parallel()
	got := call(t, nil, "posix-close")
	if got.code != 0 {
		t.Errorf("code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	wantIn(t, got.stdout, "(as described, ", "  believed  ", "  happens   ", "  measured  a second process before the close: refused\n",
		"            owners at once: 2\n", "  do        ", "\n1 as described\n")
	for line := range strings.Lines(got.stdout) {
		if len(line) > 112 && !strings.HasPrefix(line, "posix-close") {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
}

func TestSeveralAsJSON(t *testing.T) {
	t.Parallel()
	got := call(t, nil, "mutex", "EAGAIN", "--json") // names are not particular about case
	all := results(t, got.stdout)
	if got.code != 0 || len(all) != 2 || all[0].Name != "mutex" || all[1].Name != "eagain" {
		t.Fatalf("code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	for _, r := range all {
		if r.Outcome != lab.AsDescribed || r.Believed == "" || r.Happens == "" || r.Advice == "" || len(r.Measured) == 0 || r.Seconds <= 0 {
			t.Errorf("%+v", r)
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"no-such"}, `there is no experiment "no-such"; see solehold lab list`},
		{[]string{"mutex", "no-such"}, `there is no experiment "no-such"`},
		{[]string{"--no-such"}, "unknown flag"},
		{[]string{"list", "mutex"}, "unknown command"},
		{[]string{"pages"}, "arg"},
	} {
		got := call(t, nil, c.args...)
		if got.code != 64 || got.stdout != "" {
			t.Errorf("%v: code %d, %q", c.args, got.code, got.stdout)
		}
		wantIn(t, got.stderr, c.want)
	}
}

// A program that is missing is named, with the way to get it, and the exit code tells that not all was run.
func TestMissingProgram(t *testing.T) {
	t.Parallel()
	noPath := func(cmd *exec.Cmd) { cmd.Env = append(os.Environ(), "PATH=") }
	got := call(t, noPath, "redis-set", "mutex", "fallback")
	if got.code != 2 {
		t.Errorf("code %d", got.code)
	}
	wantIn(t, got.stdout, "(not run: needs redis-server; get it: apt-get install redis-server)", "1 as described, 2 not run\n", "believed", "do  ")
	if strings.Contains(got.stdout, "not measured") {
		t.Errorf("what was not run is not to be measured:\n%s", got.stdout)
	}
}

func TestUnwritableTemporaryDirectory(t *testing.T) {
	t.Parallel()
	got := call(t, func(cmd *exec.Cmd) { cmd.Env = append(os.Environ(), "TMPDIR=/no/such") }, "mutex", "deleted")
	if got.code != 2 {
		t.Errorf("code %d", got.code)
	}
	wantIn(t, got.stdout, "(broke off: ", "/no/such: no such file or directory", "2 failed\n")
}

// An interrupt ends everything that was begun, and removes it.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"unlink", "nonblocking"} {
		tmp := t.TempDir()
		path, err := os.Executable()
		must(t, err)
		cmd := exec.Command(path, "lab", name)
		cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
		stderr, err := cmd.StderrPipe()
		must(t, err)
		must(t, cmd.Start())
		line := make([]byte, 200)
		n, err := stderr.Read(line) // what takes over a second says so
		must(t, err)
		wantIn(t, string(line[:n]), name+": takes more than a second\n")
		must(t, cmd.Process.Signal(syscall.SIGINT))
		n, _ = stderr.Read(line) // none, if the experiment had ended
		_ = cmd.Wait()           // the code is looked at
		if code := cmd.ProcessState.ExitCode(); code == 0 && n == 0 {
			t.Logf("%s had ended", name)
		} else if code != 130 || !strings.Contains(string(line[:n]), "interrupted; nothing is left behind") {
			t.Errorf("%s: code %d, %s", name, code, line[:n])
		}
		wantEmpty(t, tmp)
	}
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range left {
		t.Errorf("left behind: %s", e.Name())
	}
}

// A user without rights runs everything; what needs root says so. Nothing is left behind.
func TestWithoutRights(t *testing.T) {
	t.Parallel()
	testneed.Root(t) // to become nobody
	path, nobody, tmp := asNobody(t)
	got := callPath(t, path, nobody, "--json")
	all := results(t, got.stdout)
	if got.code != 2 || len(all) != len(lab.All()) {
		t.Errorf("code %d, %d results\n%s", got.code, len(all), got.stderr)
	}
	seconds := 0.0
	for _, r := range all {
		seconds += r.Seconds
		switch {
		case r.Name == "kill-mode":
			wantIn(t, r.Missing, "needs root; get it: ")
		case r.Outcome == lab.NotRun && strings.Contains(r.Missing, "; get it: "):
			t.Logf("%s %s", r.Name, r.Missing) // for example a device that is root's alone
		case r.Outcome != lab.AsDescribed:
			t.Errorf("%s: %s %s\n%+v", r.Name, r.Outcome, r.Error, r)
		}
	}
	t.Logf("%.1f s for %d experiments", seconds, len(all))
	wantEmpty(t, tmp)
}

func TestUnknownRole(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"role"}, {"role", "king"}, {"role", "inside", "no-such", "true"}} {
		if got := call(t, nil, args...); got.code != 1 || !strings.Contains(got.stderr, "lab: ") {
			t.Errorf("%v: code %d, %q", args, got.code, got.stderr)
		}
	}
}

func TestNobodyReads(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	must(t, err)
	must(t, r.Close())
	defer w.Close()
	got := call(t, func(cmd *exec.Cmd) { cmd.Stdout = w }, "mutex", "--json")
	if slices.Contains([]int{0, 1}, got.code) {
		t.Errorf("code %d", got.code)
	}
}

// A shell offers the names.
func TestCompletion(t *testing.T) {
	t.Parallel()
	code := 0
	words, _ := lab.Command(&code).ValidArgsFunction(nil, nil, "")
	if len(words) != len(lab.All()) || !slices.Contains(words, "unlink\ta lock file is removed when the lock is released") {
		t.Errorf("%q", words)
	}
}
