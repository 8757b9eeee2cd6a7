package drill_test

import (
	"context"
	"fmt"
	"io"
	"net"
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
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
)

// TestMain lets this program be what the drill starts of itself, and the commands that are drilled.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case drill.CradleVerb:
			os.Exit(drill.Cradle(os.Args[2:]))
		case drill.EngineVerb:
			os.Exit(smallEngine(os.Args[3]))
		case drill.BystanderVerb:
			os.Exit(drill.Bystander())
		case "act":
			os.Exit(act(os.Args[2], os.Args[3:]))
		}
	}
	os.Exit(m.Run())
}

// act is a command that is drilled.
func act(what string, args []string) int {
	switch what {
	case "write": // writes into a file, and keeps it open
		f, err := os.OpenFile(args[0], os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		defer f.Close()
	case "lock-and-write": // takes a lock on the file that it writes, as bbolt does
		f, err := os.OpenFile(args[0], os.O_RDWR|os.O_CREATE, 0o600)
		if err == nil {
			err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		}
		if err != nil {
			fmt.Println(err)
			return 7
		}
		defer f.Close()
	case "touch": // changes a file and closes it, as a script does
		if err := os.WriteFile(args[0], []byte("x"), 0o600); err != nil {
			return 1
		}
	case "listen":
		l, err := net.Listen("unix", args[0])
		if err != nil {
			fmt.Println(err)
			return 1
		}
		defer l.Close()
	case "leave": // ends, and leaves a child in a session of its own
		cmd := exec.Command(os.Args[0], "act", "write", args[0])
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if cmd.Start() != nil {
			return 1
		}
		return 0
	case "hand-over": // waits for its turn at the lock, opens the data for a moment, and lets go of both, again and again
		for {
			if err := handOver(args[0], args[1]); err != nil {
				fmt.Println(err)
				return 1
			}
		}
	case "endless": // a drill that goes on, and says when its first round is over
		return endless(args[0])
	case "echo":
		io.Copy(os.Stdout, os.Stdin)
		return 0
	case "ends":
		code, _ := strconv.Atoi(args[0])
		fmt.Println("the configuration is wrong")
		return code
	case "run": // is the solehold of a drill between hosts
		return smallRun(args)
	case "drill":
		return drillOf(args[0])
	case "tty":
		if _, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err != nil {
			fmt.Println("this program needs a terminal:", err)
			return 3
		}
	}
	<-time.After(1 << 62) // for ever: without a timer the runtime ends a program that nothing can wake
	return 0
}

// endless drills a directory until it is ended.
func endless(dir string) int {
	c := drill.Config{Scenario: "race", Command: self("lock-and-write", "{dir}/data"), Starters: 3, Rounds: 100000, Dir: dir}
	c.Progress = func(p drill.Progress) {
		if p.Round == 2 {
			fmt.Print(".")
		}
	}
	drill.Run(deadline(), c)
	return 1
}

// handOver holds the lock while it has the data open, as a good guard does.
func handOver(lock, data string) error {
	l, err := os.OpenFile(lock, os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := syscall.Flock(int(l.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	f, err := os.OpenFile(data, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close() // before the lock is given back
}

// self is a command line of this program.
func self(what string, args ...string) []string {
	return append([]string{os.Args[0], "act", what}, args...)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rounds scales how often something is forced: a tenth in CI, all with SOLEHOLD_SOAK=100, at least once.
func rounds(all int) int {
	percent, err := strconv.Atoi(os.Getenv("SOLEHOLD_SOAK"))
	if err != nil {
		percent = 10
	}
	return max(1, all*percent/100)
}

// patience is long: it is reached only where something is broken.
const patience = 2 * time.Minute

// run runs a drill, which must come to a verdict, and checks that nothing of it is left.
func run(t *testing.T, c drill.Config) drill.Report {
	t.Helper()
	if c.Limit == 0 {
		c.Limit = patience
	}
	if c.Rounds == 0 {
		c.Rounds = 1
	}
	r, err := drill.Run(t.Context(), c)
	if err != nil {
		t.Fatalf("%v: %v", c.Command, err)
	}
	clean(t, r)
	return r
}

// clean checks that no process of a drill lives, and that its directory is gone.
func clean(t *testing.T, r drill.Report) {
	t.Helper()
	mark := fmt.Sprintf("%s=%d.", drill.Mark, os.Getpid())
	procs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range procs {
		env, _ := os.ReadFile(name) // it may have ended
		if strings.Contains(string(env), "SOLEHOLD_DIR="+r.Dir+"\x00") && strings.Contains(string(env), mark) {
			t.Errorf("%s is left of %s", name, r.Scenario)
		}
	}
	if _, err := os.Stat(filepath.Dir(r.Dir)); err == nil && strings.Contains(r.Dir, "solehold-drill-") && !r.Kept {
		t.Errorf("%s is left", r.Dir)
	}
}

// expect checks the verdict, and prints all of it where it is another one.
func expect(t *testing.T, r drill.Report, want drill.Verdict, because string) {
	t.Helper()
	if r.Verdict != want || !strings.Contains(strings.Join(r.Reasons, "\n"), because) {
		t.Errorf("%s on %v: %s %q, %d owners, want %s %q", r.Scenario, r.Command, r.Verdict, r.Reasons, r.Owners, want, because)
		for _, round := range r.Rounds {
			for _, e := range round.Events {
				t.Logf("round %d %.3f start %d %s %s", round.Number, e.At, e.Start, e.What, e.Detail)
			}
			for _, l := range round.Starts {
				t.Logf("  start %d pid %d %s owned %v: %s", l.Number, l.PID, l.End, l.Owned, l.Output)
			}
		}
	}
}

// script writes a shell script and gives a command line for it.
func script(t *testing.T, text string, args ...string) []string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "script")
	must(t, os.WriteFile(name, []byte(text), 0o700))
	return slices.Concat([]string{testneed.Program(t, "sh", "install a shell"), name}, args)
}

// deadline is the context of a program of its own.
func deadline() context.Context {
	ctx, stop := context.WithTimeout(context.Background(), 2*patience)
	context.AfterFunc(ctx, stop)
	return ctx
}

func procStat(pid int) (procfs.Stat, error) { return procfs.Default().Stat(pid) }
