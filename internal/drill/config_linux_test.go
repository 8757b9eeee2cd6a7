package drill_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/drill"
	"github.com/solehold/solehold/internal/testneed"
)

func TestDefaults(t *testing.T) {
	names, about := drill.Scenarios()
	if len(names) != len(about) || !slices.Contains(names, "race") || slices.Contains(names, drill.All) {
		t.Fatalf("scenarios %q, %q", names, about)
	}
	for _, name := range names {
		c, err := drill.Config{Scenario: name, Command: []string{"x"}}.Check()
		rounds := map[string]int{"partition": drill.PartitionRounds}[name]
		if err != nil || c.Starters < 2 || c.Rounds != cmp.Or(rounds, drill.DefaultRounds) || c.Limit != drill.DefaultLimit || c.Grace != drill.DefaultGrace || c.Settle != drill.DefaultSettle {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	given := drill.Config{Scenario: "race", Command: []string{"x"}, Starters: 3, Rounds: 4, Limit: 5, Grace: 7, Settle: 6}
	if c, err := given.Check(); err != nil || !reflect.DeepEqual(c, given) {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestRefusedConfig(t *testing.T) {
	for want, c := range map[string]drill.Config{
		`no scenario "": there are race, `:     {Command: []string{"x"}},
		`no scenario "all"`:                    {Scenario: drill.All, Command: []string{"x"}},
		"which command?":                       {Scenario: "race"},
		"1 starters: must be from 2":           {Scenario: "race", Command: []string{"x"}, Starters: 1},
		"-2 starters: must":                    {Scenario: "race", Command: []string{"x"}, Starters: -2},
		"9999 starters: must be from 2 to 102": {Scenario: "race", Command: []string{"x"}, Starters: 9999},
		"-1 rounds: must be":                   {Scenario: "race", Command: []string{"x"}, Rounds: -1},
		"a time is negative":                   {Scenario: "race", Command: []string{"x"}, Limit: -1},
	} {
		r, err := drill.Run(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), want) || r.Verdict != "" {
			t.Errorf("%+v: %v, verdict %q; want %q", c, err, r.Verdict, want)
		}
	}
	c := drill.Config{Scenario: "race", Command: []string{"x"}, Settle: -time.Second}
	if _, err := drill.Run(t.Context(), c); err == nil {
		t.Error("a negative settle is taken")
	}
}

// TestCannotStart has what keeps a drill from beginning; nothing is left then.
func TestCannotStart(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for want, c := range map[string]drill.Config{
		"not found":                {Scenario: "race", Command: []string{"no-such-program-of-any-kind"}},
		"no such file":             {Scenario: "race", Command: []string{"./no-such-program"}},
		"other-such":               {Scenario: "race", Command: []string{"true"}, Also: []string{"no-other-such"}},
		"no scheme":                {Scenario: "race", Command: []string{"true"}, HealthURL: "localhost"},
		"no-such-cradle":           {Scenario: "race", Command: []string{"true"}, Self: []string{"/no-such-cradle"}},
		"/no-such-directory":       {Scenario: "race", Command: []string{"true"}, Dir: "/no-such-directory"},
		"is for the drill's own u": {Scenario: "race", Command: []string{"true"}, Self: []string{os.Args[0], drill.CradleVerb, "{}"}},
	} {
		r, err := drill.Run(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), want) || r.Verdict != drill.NotRun || len(r.Reasons) == 0 {
			t.Errorf("%+v: %v, %s %q; want %q", c, err, r.Verdict, r.Reasons, want)
		}
	}
	if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestDirectoryInUse keeps its hands off a directory in which somebody works.
func TestDirectoryInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "data"))
	must(t, err)
	defer f.Close()
	other := exec.Command("sleep", "1000")
	other.Stdout = f
	must(t, other.Start())
	defer func() { other.Process.Kill(); other.Wait() }()
	r, err := drill.Run(t.Context(), drill.Config{Scenario: "race", Command: self("write", "{dir}/data"), Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "UNGUARDED") || r.Verdict != drill.NotRun {
		t.Errorf("%v, %s", err, r.Verdict)
	}
}

// TestDirectoryOfTheUser is used as it is, and left.
func TestDirectoryOfTheUser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "old"), []byte("kept"), 0o600))
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(dir, link))
	r := run(t, drill.Config{Scenario: "race", Command: self("lock-and-write", "{dir}/data"), Dir: link, Starters: 2})
	expect(t, r, drill.Pass, "")
	text, err := os.ReadFile(filepath.Join(dir, "old"))
	if err != nil || string(text) != "kept" || r.Dir != dir {
		t.Errorf("%q, %v, directory %s", text, err, r.Dir)
	}
}

func TestAgain(t *testing.T) {
	c := drill.Config{
		Scenario: "race", Command: []string{"/bin/sh", "-c", "exec kb --data $D"}, Starters: 32, Rounds: 50, Seed: 7,
		Limit: drill.DefaultLimit, Grace: drill.DefaultGrace, Settle: drill.DefaultSettle,
	}
	want := "solehold drill race --seed 7 -n 32 --rounds 50 -- /bin/sh -c 'exec kb --data $D'"
	if got := c.Again(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	c.Dir, c.Ignore, c.Also, c.HealthURL = "/a b", []string{"*.log", "x"}, []string{"kb", "-w"}, "http://127.0.0.1:1/healthz"
	c.Limit, c.Grace, c.Settle, c.Command = time.Minute, time.Hour, time.Second, []string{"kb", "{dir}", "it's", ""}
	want = "solehold drill race --seed 7 -n 32 --rounds 50 --dir '/a b' --ignore '*.log' --ignore x --also 'kb -w'" +
		" --health-http http://127.0.0.1:1/healthz --limit 1m0s --grace 1h0m0s --settle 1s -- kb {dir} 'it'\\''s' ''"
	if got := c.Again(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestAgainIsForAShell lets a shell read the words back.
func TestAgainIsForAShell(t *testing.T) {
	sh := testneed.Program(t, "sh", "install a shell")
	command := []string{"a b", "c'd", `e"f`, "g$h", "`i`", "", "j;k", "l\nm", "*", "~", "#", "{dir}", "ä"}
	c := drill.Config{Scenario: "race", Command: command}
	_, words, _ := strings.Cut(c.Again(), " -- ")
	out, err := exec.Command(sh, "-c", `for w in `+words+`; do printf '%s\0' "$w"; done`).Output()
	if err != nil || string(out) != strings.Join(command, "\x00")+"\x00" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestDice(t *testing.T) {
	a, b := drill.Points(1, 3, 50), drill.Points(1, 3, 50)
	if !reflect.DeepEqual(a, b) {
		t.Error("the same seed and round draw other points")
	}
	if reflect.DeepEqual(a, drill.Points(2, 3, 50)) || reflect.DeepEqual(a, drill.Points(1, 4, 50)) {
		t.Error("another seed or round draws the same points")
	}
	early := 0
	for _, d := range drill.Points(1, 1, 1000) {
		if d < 0 || d >= time.Second {
			t.Fatalf("%v is outside", d)
		}
		if d < time.Second/4 {
			early++
		}
	}
	if early < 400 || early > 600 {
		t.Errorf("%d of 1000 points are in the first quarter, not half", early)
	}
}

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want drill.Times
	}{
		{nil, drill.Times{}},
		{[]float64{2}, drill.Times{Count: 1, Median: 2, Slowest: 2}},
		{[]float64{3, 1, 2}, drill.Times{Count: 3, Median: 2, Slowest: 3}},
		{[]float64{4, 1, 3, 2}, drill.Times{Count: 4, Median: 3, Slowest: 4}},
	} {
		if got := drill.TimesOf(c.of...); got != c.want {
			t.Errorf("%v: %+v", c.of, got)
		}
	}
}

// TestWithoutRoot says what it would take.
func TestWithoutRoot(t *testing.T) {
	testneed.Root(t)
	binary, err := os.ReadFile(os.Args[0])
	must(t, err)
	dir, err := os.MkdirTemp("", "drill-test-")
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.Chmod(dir, 0o755))
	program := filepath.Join(dir, "test")
	must(t, os.WriteFile(program, binary, 0o755))
	setpriv := testneed.Program(t, "setpriv", "apt-get install util-linux")
	for _, name := range []string{"full-disk", "read-only", "clock", "pid-reuse", "reboot"} {
		out, err := exec.Command(setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", program, "act", "drill", name).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "not run: cannot run here: it takes root") {
			t.Errorf("%s: %v %s", name, err, out)
		}
	}
	// What needs no rights runs without, and says what it could not hear.
	out, err := exec.Command(setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", program, "act", "drill", "race").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "fail: ") || !strings.Contains(string(out), "owners at once") || !strings.Contains(string(out), "fanotify") {
		t.Errorf("race: %v %s", err, out)
	}
}

// drillOf is what the act "drill" does: an unguarded command under a scenario, and one line about it.
func drillOf(name string) int {
	c := drill.Config{Scenario: name, Command: self("write", "{dir}/data"), Rounds: 1, Starters: 3, Limit: patience}
	r, err := drill.Run(deadline(), c)
	if err != nil && !errors.Is(err, drill.ErrNotHere) {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("%s: %s; %s\n", r.Verdict, strings.Join(r.Reasons, ", "), strings.Join(r.Gaps, ", "))
	return 0
}
