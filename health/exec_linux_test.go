package health_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/health"
	"github.com/solehold/solehold/internal/testneed"
)

// shell gives a probe that runs a script.
func shell(t testing.TB, script string, opts health.ExecOptions) health.Probe {
	t.Helper()
	return must(t)(health.Exec([]string{"/bin/sh", "-c", script}, opts))
}

func TestExec(t *testing.T) {
	for script, x := range map[string]struct {
		want   health.Verdict
		detail string
	}{
		"true":                              {health.OK, "exit code 0"},
		"echo fine":                         {health.OK, "exit code 0: fine"},
		"echo; echo ' bad day ' >&2; false": {health.Fail, "exit code 1: bad day"},
		"exit 3":                            {health.Fail, "exit code 3"},
		"exit 2":                            {health.Unknown, "exit code 2"},
		"kill -SEGV $$":                     {health.Fail, "killed by segmentation fault"},
		"kill -KILL $$":                     {health.Fail, "killed by killed"},
		"no-such-command-here":              {health.Fail, "exit code 127"},
		`printf '\033[2J\000x'`:             {health.OK, `\x1b[2J\x00x`},
		"read line || echo no input":        {health.OK, "no input"},
		`read -r a b c d group rest < /proc/$$/stat; [ "$group" = "$$" ] && echo own group`: {health.OK, "own group"},
		`[ "$A$B" = "extra" ] && [ -n "$PATH" ]`:                                            {health.OK, ""},
	} {
		opts := health.ExecOptions{UnknownCodes: []int{2}, Extra: []string{"A=ext", "B=nothing", "B=ra"}}
		nothingLeft(t, func() { want(t, within(ample, shell(t, script, opts)), x.want, x.detail) })
	}
}

func TestExecEnvironment(t *testing.T) {
	t.Setenv("SOLEHOLD_TEST", "inherited")
	const script = `echo "$SOLEHOLD_TEST$A"`
	want(t, within(ample, shell(t, script, health.ExecOptions{})), health.OK, "exit code 0: inherited")
	want(t, within(ample, shell(t, script, health.ExecOptions{Env: []string{"A=own"}})), health.OK, "exit code 0: own")
	want(t, within(ample, shell(t, script, health.ExecOptions{Env: []string{}, Extra: []string{"A=extra"}})), health.OK, "exit code 0: extra")
}

// TestExecFlood has a command that writes more than anybody wants.
func TestExecFlood(t *testing.T) {
	want(t, within(ample, shell(t, "head -c 10000000 /dev/zero | tr '\\0' x; echo >&2", health.ExecOptions{})), health.OK, "exit code 0: xxx")
	r := within(brief, shell(t, "while :; do echo flood; done", health.ExecOptions{}))
	want(t, r, health.Fail, ": flood")
	inTime(t, r, brief)
}

// TestExecOutputIsBounded sees through a Runner of its own what is kept.
func TestExecOutputIsBounded(t *testing.T) {
	var kept int
	opts := health.ExecOptions{Runner: runner(func(ctx context.Context, argv, env []string) (health.Exit, error) {
		return health.Exit{Code: 1, Output: []byte(strings.Repeat("a", health.OutputLimit))}, nil
	})}
	r := within(ample, shell(t, "true", opts))
	kept = len(r.Detail)
	want(t, r, health.Fail, "exit code 1: aaa")
	if kept > 200 {
		t.Errorf("%d bytes", kept)
	}
}

// TestExecDiesWhole has commands that do not end, or leave others behind. Each prints the pids to look for.
func TestExecDiesWhole(t *testing.T) {
	for name, x := range map[string]struct {
		script string
		want   health.Verdict
	}{
		"hangs":                          {"echo $$; exec sleep 1000", health.Fail},
		"ignores TERM":                   {"trap '' TERM INT HUP; echo $$; while :; do :; done", health.Fail},
		"is stopped":                     {"echo $$; kill -STOP $$", health.Fail},
		"child hangs":                    {"sleep 1000 & echo $$ $!; wait", health.Fail},
		"many children":                  {"for i in 1 2 3 4 5 6 7 8; do sleep 1000 & all=\"$all $!\"; done; echo $$ $all; wait", health.Fail},
		"child ignores TERM":             {"(trap '' TERM; exec sleep 1000) & echo $$ $!; wait", health.Fail},
		"ends, child holds the pipe":     {"sleep 1000 & echo $$ $!", health.OK},
		"fails, child holds the pipe":    {"sleep 1000 & echo $$ $!; exit 1", health.Fail},
		"ends, child without the pipe":   {"sleep 1000 >/dev/null 2>&1 & echo $$ $!", health.OK},
		"ends, stopped child":            {"sleep 1000 & kill -STOP $!; echo $$ $!", health.OK},
		"killed, child holds the pipe":   {"sleep 1000 & echo $$ $!; kill -KILL $$", health.Fail},
		"grandchild of dead child hangs": {"(sleep 1000 & echo $!) | { read p; echo $$ $p; }; sleep 1000", health.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			limit := ample
			if x.want == health.Fail && !strings.Contains(name, "fails") && !strings.Contains(name, "killed") {
				limit = 5 * brief
			}
			nothingLeft(t, func() {
				r := within(limit, shell(t, x.script, health.ExecOptions{}))
				want(t, r, x.want, "")
				if limit == ample && r.Took > ample/2 {
					t.Errorf("took %s", r.Took)
				}
				_, pids, _ := strings.Cut(r.Detail, ": ")
				if len(strings.Fields(pids)) == 0 {
					t.Fatalf("no pids in %q", r.Detail)
				}
				for _, pid := range strings.Fields(pids) {
					gone(t, pid)
				}
			})
		})
	}
}

// gone waits for the end of a process that is being killed. A zombie that waits for a reaper other than us has ended.
func gone(t testing.TB, pid string) {
	t.Helper()
	if _, err := strconv.Atoi(pid); err != nil {
		t.Fatalf("no pid: %q", pid)
	}
	testneed.Until(t, "end of "+pid, func() bool {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		_, rest, _ := strings.Cut(string(stat), ") ")
		return err != nil || rest == "" || rest[0] == 'Z' || rest[0] == 'X'
	})
}

// TestExecEscapeDoesNotHoldIt has a process that leaves the group with the pipe in its hand.
func TestExecEscapeDoesNotHoldIt(t *testing.T) {
	testneed.Program(t, "setsid", "apt-get install util-linux")
	nothingLeft(t, func() {
		r := within(ample, shell(t, "setsid sleep 1000 & sleep 0.1; echo $!", health.ExecOptions{}))
		want(t, r, health.OK, "exit code 0: ")
		if r.Took > ample/2 {
			t.Errorf("took %s", r.Took)
		}
		pid, err := strconv.Atoi(strings.TrimPrefix(r.Detail, "exit code 0: "))
		if err != nil {
			t.Fatal(err)
		}
		if p, err := os.FindProcess(pid); err == nil {
			p.Kill()
		}
		gone(t, strconv.Itoa(pid))
	})
}

func TestExecSeveralAtOnce(t *testing.T) {
	p := shell(t, "echo fine", health.ExecOptions{})
	answers := make(chan health.Result)
	for range 8 {
		go func() { answers <- within(ample, p) }()
	}
	for range 8 {
		want(t, <-answers, health.OK, "fine")
	}
}

func TestExecCancelled(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "started")
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		testneed.Until(t, "start", func() bool { _, err := os.Stat(fifo); return err == nil })
		cancel()
	}()
	want(t, shell(t, "echo > "+fifo+"; sleep 1000", health.ExecOptions{}).Check(ctx), health.Unknown, "cancelled")
	want(t, shell(t, "true", health.ExecOptions{}).Check(ctx), health.Unknown, "cancelled")
}

func TestExecThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	plain, script := filepath.Join(dir, "plain"), filepath.Join(dir, "script")
	for path, mode := range map[string]os.FileMode{plain: 0o644, script: 0o755} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for text, argv := range map[string][]string{
		"no command":         nil,
		"no such program":    {"no-such-program-here"},
		"not executable":     {plain},
		"is a directory":     {dir},
		"null byte":          {script, "a\x00b"},
		`"": no command`:     {""},
		"no such program: ":  {filepath.Join(dir, "none")},
		"no-such-program-he": {"no-such-program-here", "x"},
	} {
		_, err := health.Exec(argv, health.ExecOptions{})
		if bad := asTarget(t, err); !strings.Contains(bad.Error(), text) {
			t.Errorf("%q: %v, want %q", argv, err, text)
		}
	}
	p := must(t)(health.Exec([]string{script}, health.ExecOptions{}))
	want(t, within(ample, p), health.OK, "exit code 0")
	if err := os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	want(t, within(ample, p), health.Unknown, "cannot be run: no such file")
	os.Remove(script)
	want(t, within(ample, p), health.Unknown, "cannot be run: no such file")
	if p.String() != "exec "+script {
		t.Errorf("name %q", p)
	}
}

// runner makes a function a Runner.
type runner func(ctx context.Context, argv, env []string) (health.Exit, error)

func (r runner) Run(ctx context.Context, argv, env []string) (health.Exit, error) {
	return r(ctx, argv, env)
}

func TestExecRunner(t *testing.T) {
	var gotArgv, gotEnv []string
	var exit health.Exit
	var fault error
	opts := health.ExecOptions{Env: []string{"A=b"}, Extra: []string{"C=d"}, Runner: runner(func(ctx context.Context, argv, env []string) (health.Exit, error) {
		gotArgv, gotEnv = argv, env
		if _, ok := ctx.Deadline(); !ok {
			t.Error("no deadline")
		}
		return exit, fault
	})}
	p := must(t)(health.Exec([]string{"sh", "x"}, opts))
	want(t, p.Check(context.Background()), health.OK, "exit code 0")
	if len(gotArgv) != 2 || !filepath.IsAbs(gotArgv[0]) || gotArgv[1] != "x" || strings.Join(gotEnv, " ") != "A=b C=d" {
		t.Errorf("argv %q, env %q", gotArgv, gotEnv)
	}
	exit = health.Exit{Code: 7, Output: []byte("\n\nlater\nmore")}
	want(t, p.Check(context.Background()), health.Fail, "exit code 7: later")
	fault = health.ErrBusy
	want(t, p.Check(context.Background()), health.Unknown, "stuck in the kernel")
	fault = os.ErrProcessDone
	want(t, p.Check(context.Background()), health.Unknown, "cannot be run")
	exit, fault = health.Exit{Signal: 9, Output: []byte("so far")}, nil
	ctx, cancel := context.WithDeadline(context.Background(), time.Now())
	defer cancel()
	want(t, p.Check(ctx), health.Fail, ": so far")
}
