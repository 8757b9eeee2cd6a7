package drill_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/drill"
	"github.com/solehold/solehold/internal/testneed"
)

// short is a limit for what is known not to come.
const short = 2 * time.Second

// long is a limit for what comes, and only then counts.
const long = 4 * time.Second

// TestEndsAtOnce has commands that never live: the drill says how they ended and what they said.
func TestEndsAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command []string
		because string
	}{
		"exits":          {self("ends", "3"), `start 1: exit 3, "the configuration is wrong"`},
		"exits with 0":   {[]string{"true"}, "start 1: exit 0"},
		"needs terminal": {self("tty"), "this program needs a terminal"},
		"killed":         {[]string{"sh", "-c", "kill -9 $$"}, "start 1: signal 9"},
		"not a program":  {[]string{notAProgram(t)}, "exec format error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, scenario := range []string{"race", "crash", "hang", "orphan", "slow-stop", "leak"} {
				r := run(t, drill.Config{Scenario: scenario, Command: c.command, Starters: 2})
				expect(t, r, drill.Failed, "no owner")
				if !strings.Contains(r.Reasons[0], c.because) {
					t.Errorf("%s: %q does not say %q", scenario, r.Reasons, c.because)
				}
			}
		})
	}
}

// notAProgram is a file that the kernel does not execute.
func notAProgram(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "text")
	must(t, os.WriteFile(name, []byte("\x00not a program"), 0o700))
	return name
}

// TestForksAway has a command whose first process ends and leaves the service in a session of its own.
func TestForksAway(t *testing.T) {
	t.Parallel()
	for scenario, want := range map[string]drill.Verdict{"race": drill.Failed, "crash": drill.Pass, "orphan": drill.Failed, "hang": drill.Failed} {
		r := run(t, drill.Config{Scenario: scenario, Command: self("leave", "{dir}/data"), Starters: 2})
		expect(t, r, want, map[drill.Verdict]string{drill.Failed: "2 owners at once"}[want])
		if !strings.Contains(strings.Join(r.Left, " "), "act write") {
			t.Errorf("%s: left %q: what was left is not named", scenario, r.Left)
		}
	}
}

const deaf = `trap "" TERM; exec 9>"$1/data"; while :; do sleep 100; done`

// TestIgnoresTerm has one that hears no TERM: that is said, and it is ended.
func TestIgnoresTerm(t *testing.T) {
	t.Parallel()
	r := run(t, drill.Config{Scenario: "slow-stop", Command: script(t, deaf, "{dir}"), Starters: 2, Grace: short})
	expect(t, r, drill.Failed, "start 1 ignores TERM: pid ")
}

// TestLeavesChildren has a command that brings forth more and more, in sessions of their own.
func TestLeavesChildren(t *testing.T) {
	t.Parallel()
	setsid := testneed.Program(t, "setsid", "apt-get install util-linux")
	text := `for i in 1 2 3 4 5 6 7 8 9; do ` + setsid + ` sh -c 'sleep 1000 & sleep 1001' & done; exec sleep 1002 >"$1/data"`
	r := run(t, drill.Config{Scenario: "crash", Command: script(t, text, "{dir}"), Starters: 2, Rounds: 3})
	expect(t, r, drill.Pass, "")
	for _, round := range r.Rounds {
		for _, l := range round.Starts {
			if l.End == "" {
				t.Errorf("round %d: start %d has no end", round.Number, l.Number)
			}
		}
	}
}

// TestNeverHealthy has a service that lives and does not answer.
func TestNeverHealthy(t *testing.T) {
	t.Parallel()
	c := drill.Config{
		Scenario: "race", Command: self("lock-and-write", "{dir}/data"), Starters: 2,
		HealthURL: "http://127.0.0.1:1/healthz", Limit: short,
	}
	expect(t, run(t, c), drill.Failed, "never healthy within 2s: fail: ")
}

// TestHealthy asks a service that answers after a while.
func TestHealthy(t *testing.T) {
	t.Parallel()
	python := testneed.Program(t, "python3", "apt-get install python3")
	port := strconv.Itoa(testneed.Port(t))
	c := drill.Config{
		Scenario: "race", Starters: 2, HealthURL: "http://127.0.0.1:" + port + "/",
		Command: []string{python, "-m", "http.server", "--bind", "127.0.0.1", "--directory", "{dir}", port},
	}
	r := run(t, c)
	expect(t, r, drill.Pass, "")
	if r.Healthy.Count != 1 || r.Healthy.Slowest <= 0 {
		t.Errorf("healthy: %+v", r.Healthy)
	}
}

// TestEndedFromOutside ends a drill in the middle: it cleans up, and tells what was seen until then.
func TestEndedFromOutside(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancelCause(t.Context())
	because := errors.New("enough")
	c := drill.Config{Scenario: "race", Command: self("lock-and-write", "{dir}/data"), Starters: 3, Rounds: 1000, Limit: patience}
	c.Progress = func(p drill.Progress) {
		if p.Round == 2 && p.Owners > 0 {
			end(because)
		}
	}
	r, err := drill.Run(ctx, c)
	if !errors.Is(err, because) || r.Verdict != drill.NotRun || len(r.Rounds) < 1 {
		t.Errorf("%v, %s, %d rounds", err, r.Verdict, len(r.Rounds))
	}
	clean(t, r)
}

// TestDrillIsKilled kills a drill itself: its cradles end what it had started, and nothing else.
func TestDrillIsKilled(t *testing.T) {
	t.Parallel()
	bystander := exec.Command("sleep", "1000")
	must(t, bystander.Start())
	defer func() { bystander.Process.Kill(); bystander.Wait() }()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "act", "endless", dir)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // it cannot remove what it made
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	buf := make([]byte, 1)
	if _, err := out.Read(buf); err != nil { // the first round is over
		t.Fatal(err)
	}
	must(t, cmd.Process.Kill())
	cmd.Wait()
	// The lock of the data can be taken by force of the kernel as soon as nobody has the file open any more.
	waitFree(t, filepath.Join(dir, "data"))
	if err := bystander.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("a process that was not started by the drill: %v", err)
	}
}

// waitFree waits until nobody holds the lock of a file.
func waitFree(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	must(t, err)
	defer f.Close()
	got := make(chan error, 1)
	go func() { got <- syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }()
	select {
	case err := <-got:
		must(t, err)
	case <-time.After(patience):
		t.Fatalf("%s is still locked", name)
	}
}

// TestKeep leaves the data, and what the starts printed, as evidence.
func TestKeep(t *testing.T) {
	t.Parallel()
	c := drill.Config{Scenario: "race", Command: self("ends", "4"), Starters: 2, Keep: true}
	r := run(t, c)
	defer os.RemoveAll(filepath.Dir(r.Dir))
	text, err := os.ReadFile(filepath.Join(filepath.Dir(r.Dir), "round-1-start-2.log"))
	if err != nil || string(text) != "the configuration is wrong\n" || !r.Kept {
		t.Errorf("kept %v: %q, %v", r.Kept, text, err)
	}
	if info, err := os.Stat(r.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestEnvironment shows what a command is given: the mark and the directory, nothing of another holder, and ears.
func TestEnvironment(t *testing.T) {
	t.Setenv("SOLEHOLD_TOKEN", "42")
	t.Setenv("SOLEHOLD_NAME", "other")
	text := `{ env; grep SigIgn: /proc/self/status; } >"$SOLEHOLD_DIR/env.$1"; exec sleep 1000 >"$SOLEHOLD_DIR/data"`
	r := run(t, drill.Config{Scenario: "race", Command: script(t, text, "{n}", "{dir}/x"), Starters: 2, Keep: true})
	defer os.RemoveAll(filepath.Dir(r.Dir))
	for n := 1; n <= 2; n++ {
		env, err := os.ReadFile(filepath.Join(r.Dir, "env."+strconv.Itoa(n)))
		must(t, err)
		for want, there := range map[string]bool{
			"SOLEHOLD_DIR=" + r.Dir + "\n": true, "." + strconv.Itoa(n) + "\n": true, drill.Mark + "=": true,
			"SOLEHOLD_TOKEN": false, "SOLEHOLD_NAME": false,
		} {
			if strings.Contains(string(env), want) != there {
				t.Errorf("start %d: %q there is %v, want %v", n, want, !there, there)
			}
		}
		_, mask, _ := strings.Cut(string(env), "SigIgn:\t")
		ignored, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			if err != nil || ignored>>(sig-1)&1 != 0 {
				t.Errorf("start %d is born deaf to %v (%s, %v)", n, sig, mask, err)
			}
		}
	}
}

// TestIgnore has starts that write a common log, which is nobody's data.
func TestIgnore(t *testing.T) {
	t.Parallel()
	flock := testneed.Program(t, "flock", "apt-get install util-linux")
	text := `exec 9>"$1/lock"; exec 8>>"$1/all.log"; echo starts >&8; ` + flock + ` -n 9 || { echo refused >&8; exec sleep 1000; }; exec sleep 1000 >"$1/data"`
	c := drill.Config{Scenario: "race", Command: script(t, text, "{dir}"), Starters: 3}
	expect(t, run(t, c), drill.Failed, "has all.log open for writing")
	c.Ignore = []string{"*.log"}
	expect(t, run(t, c), drill.Pass, "")
}

// TestHandOverIsNoClash has three that take turns thousands of times a second, never two at once. Each look may see one
// before and another one after a turn: that they were there together is only told where it is proven.
func TestHandOverIsNoClash(t *testing.T) {
	t.Parallel()
	c := drill.Config{Scenario: "race", Command: self("hand-over", "{dir}/lock", "{dir}/data"), Starters: 3, Rounds: rounds(20), Limit: short}
	r := run(t, c)
	if r.Owners > 1 {
		t.Errorf("%q, known by %q", r.Reasons, r.By)
	}
}

// TestWaiters has starts that wait for the lock in place of leaving: they own nothing.
func TestWaitersOwnNothing(t *testing.T) {
	t.Parallel()
	flock := testneed.Program(t, "flock", "apt-get install util-linux")
	waits := append([]string{flock, "{dir}/lock"}, self("write", "{dir}/data")...)
	for _, scenario := range []string{"race", "hang", "crash"} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			expect(t, run(t, drill.Config{Scenario: scenario, Command: waits, Starters: 3}), drill.Pass, "")
		})
	}
	t.Run("by living on", func(t *testing.T) {
		t.Parallel()
		r := run(t, drill.Config{Scenario: "race", Command: []string{flock, "{dir}/lock", "sleep", "1000"}, Starters: 3, Limit: long})
		expect(t, r, drill.Pass, "")
		if r.Owners != 1 || !slices.Equal(r.By, []string{drill.ByLife}) || r.Took < long.Seconds() {
			t.Errorf("%d owners known by %q after %.1fs", r.Owners, r.By, r.Took)
		}
	})
}

// TestLateWriterIsWaitedFor has a start that is quiet for long before it opens its data: it owns nothing until then, and is
// not taken for one that never will.
func TestLateWriterIsWaitedFor(t *testing.T) {
	t.Parallel()
	text := `sleep 2; exec sleep 1000 9>"$1/data"`
	r := run(t, drill.Config{Scenario: "hang", Command: script(t, text, "{dir}"), Starters: 2, Settle: 50 * time.Millisecond})
	if r.Verdict == drill.Failed && strings.Contains(strings.Join(r.Reasons, " "), "no owner") || !slices.Equal(r.By, []string{"open for writing"}) {
		t.Errorf("%s %q, known by %q", r.Verdict, r.Reasons, r.By)
	}
}

// TestChangeIsSeen has two that change a file and close it at once: nothing is open when it is looked at.
func TestChangeIsSeen(t *testing.T) {
	t.Parallel()
	r := run(t, drill.Config{Scenario: "race", Command: self("touch", "{dir}/data"), Starters: 2, Settle: short})
	expect(t, r, drill.Failed, "2 owners at once")
	if os.Geteuid() == 0 && !strings.Contains(strings.Join(r.By, " "), "changed") && len(r.Gaps) == 0 {
		t.Errorf("known by %q, gaps %q", r.By, r.Gaps)
	}
}

// TestOnlyOneSees has commands that do one thing alone by which an owner is known: each is found by that, and by no other.
func TestOnlyOneSees(t *testing.T) {
	t.Parallel()
	sleep := testneed.Program(t, "sleep", "install coreutils")
	for by, command := range map[string][]string{
		"open for writing": self("write", "{dir}/data"),
		"listens":          self("listen", "{dir}/../socket.{n}"),
		drill.ByLife:       {sleep, "1000"},
	} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			c := drill.Config{Scenario: "race", Command: command, Starters: 2}
			if by == drill.ByLife {
				c.Limit = long
			}
			r := run(t, c)
			expect(t, r, drill.Failed, "2 owners at once")
			if !slices.Equal(r.By, []string{by}) {
				t.Errorf("known by %q", r.By)
			}
		})
	}
}

// TestSecondEntrance has two commands, each of which keeps only its own kind out.
func TestSecondEntrance(t *testing.T) {
	t.Parallel()
	c := drill.Config{Scenario: "race", Command: self("lock-and-write", "{dir}/a"), Also: self("lock-and-write", "{dir}/b"), Starters: 4}
	r := run(t, c)
	expect(t, r, drill.Failed, "2 owners at once")
	for i, l := range r.Rounds[0].Starts {
		if l.Also != (i%2 == 1) {
			t.Errorf("start %d is the second entrance: %v", l.Number, l.Also)
		}
	}
	if r.Refused.Count != 2 || r.Refused.Ends["exit 7"] != 2 {
		t.Errorf("refused: %+v", r.Refused)
	}
}
