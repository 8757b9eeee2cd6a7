package overview_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/journal"
)

// actVar makes this test binary an actor: it does the steps, prints a line and stays
// until its input ends.
const actVar = "SOLEHOLD_TEST_ACT"

// patience bounds every wait for something that has to happen.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	steps, ok := os.LookupEnv(actVar)
	if !ok {
		os.Exit(m.Run())
	}
	for step := range strings.SplitSeq(steps, "\n") {
		verb, arg, _ := strings.Cut(step, " ")
		if err := act(verb, arg); err != nil {
			fmt.Println(step, err)
			os.Exit(1)
		}
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
}

func act(verb, arg string) error {
	o := &solehold.Options{NoSync: true}
	switch verb {
	case "hold":
		_, err := solehold.Acquire(context.Background(), arg, o)
		return err
	case "hold-below": // many at once
		dirs, err := filepath.Glob(arg + "/*")
		for _, dir := range dirs {
			if _, err := solehold.Acquire(context.Background(), dir, o); err != nil {
				return err
			}
		}
		return err
	case "wait":
		go solehold.Acquire(context.Background(), arg, &solehold.Options{Wait: solehold.WaitForever})
		return nil
	case "nobody":
		return errors.Join(syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534))
	case "look":
		d, _ := overview.Look(context.Background(), overview.Options{Paths: []string{arg}, Examine: -1}).Find(arg)
		_, err := fmt.Println(d.State, d.Problem.Kind)
		return err
	case "write":
		_, err := os.OpenFile(arg, os.O_RDWR|os.O_CREATE, 0o644)
		return err
	}
	return errors.New("no such step")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// actor is a process that has done some steps.
type actor struct {
	*exec.Cmd
	in io.Closer
}

func start(t testing.TB, steps ...string) *actor {
	t.Helper()
	a := &actor{Cmd: exec.Command(os.Args[0])}
	run(t, a, steps...)
	return a
}

// run starts an actor and waits until it is ready; it returns what it said before.
func run(t testing.TB, a *actor, steps ...string) (said string) {
	t.Helper()
	a.Env = append(os.Environ(), actVar+"="+strings.Join(steps, "\n"))
	in, err := a.StdinPipe()
	must(t, err)
	out, err := a.StdoutPipe()
	must(t, err)
	must(t, a.Start())
	a.in = in
	t.Cleanup(a.end)
	for lines := bufio.NewScanner(out); lines.Scan(); said += lines.Text() {
		if lines.Text() == "ready" {
			return said
		}
	}
	t.Fatalf("%v: %s", steps, said)
	return said
}

// end lets it go: its locks end with it, without a release.
func (a *actor) end() {
	a.in.Close()
	a.Wait()
}

// dataDir makes an empty data directory.
func dataDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

// until looks again until the row of dir is as wanted.
func until(t testing.TB, w *overview.Watcher, dir string, fits func(overview.Directory) bool) overview.Directory {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		d, ok := w.Look(t.Context()).Find(dir)
		if ok && fits(d) {
			return d
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %+v, problem %+v", dir, d, d.Problem)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// history writes events into the history of a directory that has none.
func history(t testing.TB, dir string, events ...journal.Event) {
	t.Helper()
	state := filepath.Join(dir, ".solehold")
	must(t, os.MkdirAll(state, 0o700))
	f, err := os.OpenFile(filepath.Join(state, journal.Name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(t, err)
	defer f.Close()
	for _, e := range events {
		line, err := journal.Encode(e)
		must(t, err)
		_, err = f.Write(line)
		must(t, err)
	}
}
