package drillcli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/drill"
	"github.com/solehold/solehold/internal/drillcli"
	"github.com/solehold/solehold/internal/testneed"
)

// TestMain lets this program be solehold-drill, for its cradles as well.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "hold" {
		os.Exit(hold(os.Args[2]))
	}
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(drillcli.Run(context.Background(), drillcli.System(), os.Args[1:]))
	}
	os.Exit(m.Run())
}

// hold takes the lock of a file, which no child inherits, and keeps it until it is ended.
func hold(name string) int {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil || syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return 1
	}
	defer f.Close()
	<-time.After(1 << 62) // for ever: without a timer the runtime ends a program that nothing can wake
	return 0
}

// patience is reached only where something is broken.
const patience = 3 * time.Minute

// answer is how a command line ended.
type answer struct {
	code        int
	out, errors string
}

// drilled runs a command line in this process.
func drilled(t *testing.T, args ...string) answer {
	t.Helper()
	var out, errs bytes.Buffer
	code := drillcli.Run(t.Context(), drillcli.Env{Stdout: &out, Stderr: &errs}, args)
	return answer{code, out.String(), errs.String()}
}

func (a answer) expect(t *testing.T, code int, out ...string) {
	t.Helper()
	if a.code != code {
		t.Errorf("exit %d, want %d: %s%s", a.code, code, a.out, a.errors)
	}
	for _, want := range out {
		if !strings.Contains(a.out, want) {
			t.Errorf("no %q in:\n%s%s", want, a.out, a.errors)
		}
	}
}

// guarded and unguarded are commands that live; the first keeps others out.
func guarded(t *testing.T) []string {
	return []string{testneed.Program(t, "flock", "apt-get install util-linux"), "-n", "{dir}/lock", "sh", "-c", "exec sleep 1000 >{dir}/data"}
}

func unguarded() []string { return []string{"sh", "-c", "exec sleep 1000 >{dir}/data"} }

func TestUsage(t *testing.T) {
	for line, args := range map[string]string{
		`unknown command "dril"`:                           "dril race -- true",
		"which scenario? For example race":                 "drill -- true",
		"which scenario?":                                  "drill",
		"which command? It follows --":                     "drill race",
		"which command? It follows -- ":                    "drill race true",
		`one scenario at a time, or all: "crash" is one t`: "drill race crash -- true",
		`no scenario "rase": there are race, crash, hang`:  "drill rase -- true",
		"1 starters: must be from 2":                       "drill race -n 1 -- true",
		"-1 rounds: must be":                               "drill race --rounds -1 -- true",
		"a time is negative":                               "drill race --limit -1s -- true",
		"unknown flag: --rouns":                            "drill race --rouns 1 -- true",
		`invalid argument "x" for "--seed"`:                "drill race --seed x -- true",
		"open /no/such/folder/page.html: no such file":     "drill race --html /no/such/folder/page.html -- true",
		"which command?":                                   "drill race --",
	} {
		a := drilled(t, strings.Fields(args)...)
		if a.code != 64 || !strings.HasPrefix(a.errors, "solehold: "+strings.TrimSpace(line)) || a.out != "" || strings.Count(a.errors, "\n") != 2 {
			t.Errorf("%q: exit %d, %q, %q; want 64, %q", args, a.code, a.out, a.errors, line)
		}
	}
}

func TestHelp(t *testing.T) {
	a := drilled(t, "drill", "--help")
	names, _ := drill.Scenarios()
	a.expect(t, 0, append(names, "Exit codes:", "solehold drill SCENARIO", "{dir}", "--html")...)
	drilled(t).expect(t, 0, "solehold", "drill")
	if drillcli.Root().Name() != "solehold-drill" {
		t.Error("the completion would be for another program")
	}
}

func TestPass(t *testing.T) {
	t.Parallel()
	a := drilled(t, append([]string{"drill", "race", "-n", "3", "--rounds", "2", "--limit", "2m", "--"}, guarded(t)...)...)
	a.expect(t, 0, "race  3 starts x 2 rounds on: ", "flock -n {dir}/lock sh", "1 owner at most, in 2 of 2 rounds", "4, slowest ", "all exit 1", "PASS   seed ", "; again: solehold drill race --seed ")
	if a.errors != "" {
		t.Errorf("stderr: %q", a.errors)
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	a := drilled(t, append([]string{"drill", "race", "-n", "2", "--rounds", "1", "--limit", "2m", "--"}, unguarded()...)...)
	a.expect(t, 1, "2 OWNERS; one at most in 0 of 1 round", "because     round 1: 2 owners at once after", "has data open for writing; pid ", "FAIL   seed ")
}

// TestNotRun has a command that is not there.
func TestNotRun(t *testing.T) {
	t.Parallel()
	a := drilled(t, "drill", "race", "--", "no-such-command-of-any-kind")
	a.expect(t, 2, "because     exec: \"no-such-command-of-any-kind\": executable file not found", "NOT RUN")
}

func TestJSON(t *testing.T) {
	t.Parallel()
	a := drilled(t, append([]string{"drill", "race", "-n", "2", "--rounds", "1", "--json", "--seed", "5", "--limit", "2m", "--"}, unguarded()...)...)
	var reports []drill.Report
	if err := json.Unmarshal([]byte(a.out), &reports); err != nil || len(reports) != 1 || a.code != 1 {
		t.Fatalf("%v, %d reports, exit %d", err, len(reports), a.code)
	}
	r := reports[0]
	if r.Verdict != drill.Failed || r.Seed != 5 || r.Owners != 2 || len(r.Rounds) != 1 || r.Rounds[0].Clash == nil {
		t.Fatalf("%+v", r)
	}
	round := r.Rounds[0]
	pids := map[int]bool{}
	for _, o := range round.Clash.Owners {
		pids[o.PID] = true
		if !strings.Contains(o.Command, "sleep 1000") || o.Why != "has data open for writing" {
			t.Errorf("owner %+v", o)
		}
	}
	for _, l := range round.Starts {
		if !pids[l.PID] || len(l.Owned) == 0 || l.Owned[0].To < round.Clash.At || l.End != "signal 9" {
			t.Errorf("start %+v is none of %v", l, pids)
		}
	}
	last := 0.0
	for _, e := range round.Events {
		if e.At < last || e.What == "" {
			t.Errorf("event %+v after %v", e, last)
		}
		last = e.At
	}
}

// TestReplay repeats a drill by the line that it printed: the same random points come again.
func TestReplay(t *testing.T) {
	t.Parallel()
	first := drilled(t, append([]string{"drill", "crash", "-n", "2", "--rounds", "1", "--limit", "2m", "--"}, guarded(t)...)...)
	first.expect(t, 0, "again: solehold drill crash --seed ")
	_, line, _ := strings.Cut(strings.TrimSpace(first.out), "again: solehold ")
	out, err := exec.Command("sh", "-c", os.Args[0]+" "+line).CombinedOutput()
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "again: solehold "+line) {
		t.Errorf("%v: %s\nwant the line %s", err, out, line)
	}
}

// TestAll runs all of them on a guard that keeps its promise in each; what needs root is named where there is none.
func TestAll(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.html")
	a := drilled(t, "drill", "all", "-n", "2", "--rounds", "1", "--limit", "2m", "--html", page, "--", os.Args[0], "hold", "{dir}/data")
	names, _ := drill.Scenarios()
	for _, name := range names {
		if !strings.Contains(a.out, "\n"+name+"  ") && !strings.HasPrefix(a.out, name+"  ") {
			t.Errorf("no %s in:\n%s", name, a.out)
		}
	}
	// Where solehold itself is not installed, as here, there is no drill between hosts.
	notRun := strings.Count(a.out, "\nNOT RUN")
	if strings.Count(a.out, "\nPASS ")+notRun != len(names) || os.Geteuid() == 0 && notRun > strings.Count(a.out, "it takes the program solehold") {
		t.Errorf("not all of %d passed, %d could not run:\n%s", len(names), notRun, a.out)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.Contains(string(text), "<h2>"+name+" ") {
			t.Errorf("no %s on the page", name)
		}
	}
}

// TestInterrupt ends a drill by a signal: it cleans up, prints what was seen, and says that it has no verdict.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], append([]string{"drill", "race", "-n", "2", "--rounds", "100000", "--limit", "2m", "--dir", dir, "--"}, guarded(t)...)...)
	var out bytes.Buffer
	cmd.Stdout = &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { _, err := os.Stat(filepath.Join(dir, "data")); return err == nil })
	cmd.Process.Signal(syscall.SIGINT)
	err := cmd.Wait()
	if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(out.String(), "NOT RUN") {
		t.Errorf("%v: %s", err, out.String())
	}
	if out, err := exec.Command("flock", "-n", filepath.Join(dir, "lock"), "true").CombinedOutput(); err != nil {
		t.Errorf("what was started holds the lock: %v %s", err, out)
	}
}

// waitFor looks again and again until something is so.
func waitFor(t *testing.T, so func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for over := time.After(patience); !so(); {
		select {
		case <-tick.C:
		case <-over:
			t.Fatal("it never came to that")
		}
	}
}
