package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/solehold/solehold/bench/internal/helper"
	"github.com/solehold/solehold/bench/internal/report"
	"github.com/solehold/solehold/bench/internal/turn"
	"github.com/solehold/solehold/bench/internal/usage"
)

// childSource is a child that says when its main began, as little else as can be.
const childSource = `#include <stdio.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv) {
	struct timespec t;
	char text[32];
	clock_gettime(CLOCK_MONOTONIC, &t);
	int n = snprintf(text, sizeof text, "%lld\n", t.tv_sec * 1000000000LL + t.tv_nsec);
	if (write(1, text, n) != n) return 1;
	if (argc > 1) pause();
	return 0;
}
`

// tools are the programs that the command line is measured with.
type tools struct {
	solehold string
	child    string // says when it began; /bin/true when no compiler is there
	timed    bool   // child does
	dir      string
	n        int // directories made
}

// tools builds what is needed, once. An error says why the command line is left
// out.
func (b *bench) tools() (*tools, error) {
	if b.built == nil {
		t, err := makeTools(filepath.Join(b.dir, "cli"))
		if err != nil {
			return nil, err
		}
		b.built = t
	}
	return b.built, nil
}

func makeTools(dir string) (*tools, error) {
	t := &tools{child: "/bin/true", dir: dir}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return nil, err
	}
	source := filepath.Join(t.dir, "child.c")
	if err := os.WriteFile(source, []byte(childSource), 0o600); err != nil {
		return nil, err
	}
	child := filepath.Join(t.dir, "child")
	if exec.Command("cc", "-O2", "-static", "-o", child, source).Run() == nil {
		t.child, t.timed = child, true
	}
	if err := t.build(); err != nil {
		return nil, err
	}
	if _, err := t.start(t.run()...)(); err != nil {
		return nil, fmt.Errorf("`solehold run` does not work yet: %w", err)
	}
	return t, nil
}

// build finds the command: built from the source beside this module, else as it
// is in ../bin.
func (t *tools) build() error {
	t.solehold = filepath.Join(t.dir, "solehold")
	if sources, _ := filepath.Glob("../cmd/solehold/*.go"); len(sources) > 0 {
		return goBuild(t.solehold, "./cmd/solehold")
	}
	bin, err := filepath.Abs("../bin/solehold")
	if err != nil {
		return err
	}
	if _, err := os.Stat(bin); err != nil {
		return errors.New("there is neither ../cmd/solehold nor ../bin/solehold yet")
	}
	t.solehold = bin
	return nil
}

// goBuild builds commands of this project.
func goBuild(to string, what ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", to}, what...)...)
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly") // whatever GOFLAGS was, nothing there changes
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%q of ..: %s", what, strings.TrimSpace(string(out)))
	}
	return nil
}

// place is a new data directory.
func (t *tools) place() string {
	t.n++
	dir := filepath.Join(t.dir, "data"+strconv.Itoa(t.n))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return ""
	}
	return dir
}

func (t *tools) run(flags ...string) []string {
	return append(append([]string{t.solehold, "run", t.place()}, flags...), "--", t.child)
}

// start returns a sample: the time from spawn until the child's main, or until
// the end of all where the child does not say it.
func (t *tools) start(args ...string) func() (float64, error) {
	return func() (float64, error) {
		cmd := exec.Command(args[0], args[1:]...)
		begin := helper.Now()
		out, err := cmd.Output()
		end := helper.Now()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", filepath.Base(args[0]), withStderr(err))
		}
		if t.timed {
			if end, err = strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64); err != nil {
				return 0, err
			}
		}
		return float64(end - begin), nil
	}
}

func withStderr(err error) error {
	var e *exec.ExitError
	if errors.As(err, &e) && len(e.Stderr) > 0 {
		first, _, _ := strings.Cut(string(e.Stderr), "\n")
		return fmt.Errorf("%w: %s", err, first)
	}
	return err
}

// startup measures how much later a child starts below each wrapper.
func (b *bench) startup() error {
	if !b.wants("cli/run/flock -n") && !b.wants("cli/exec/flock -n -F") && !b.wants("cli/run/direct") {
		return nil
	}
	t, err := b.tools()
	if err != nil {
		b.note("skipped: %v", err)
		return nil
	}
	if !t.timed {
		b.note("no C compiler: whole time of /bin/true instead")
	}
	lock := filepath.Join(t.dir, "flock")
	run := turn.Side{Name: "run", Sample: t.start(t.run()...)}
	direct := turn.Side{Name: "direct", Sample: t.start(t.child)}
	forks := turn.Side{Name: "flock -n", Sample: t.start("flock", "-n", lock, t.child)}
	becomes := turn.Side{Name: "flock -n -F", Sample: t.start("flock", "-n", "-F", lock, t.child)}
	execs := turn.Side{Name: "exec", Sample: t.start(t.run("--exec")...)}
	b.measure(pair{"cli/run/flock -n", "run: beside flock -n (util-linux)", run, forks, true})
	b.measure(pair{"cli/run/direct", "run: beside no wrapper", run, direct, false})
	b.measure(pair{"cli/exec/flock -n -F", "run --exec: beside flock -n -F", execs, becomes, false})
	return nil
}

// resident measures what a wrapper costs while its child runs, and what status does.
func (b *bench) resident() error {
	if !b.wants("cli/memory") && !b.wants("cli/idle") && !b.wants("cli/status") {
		return nil
	}
	t, err := b.tools()
	if err != nil || !t.timed {
		b.note("skipped: %v", cmpErr(err, errors.New("needs cc for a child that tells when it runs")))
		return nil
	}
	args := append(t.run(), "stay")
	cmd := exec.Command(args[0], args[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer cmd.Process.Signal(os.Interrupt)
	if _, err := out.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("the child did not start: %w", err)
	}
	return b.residentOf(t, cmd.Process.Pid, args[2])
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (b *bench) residentOf(t *tools, pid int, dir string) error {
	rates, err := b.wakeups([]int{pid})
	if err != nil {
		return err
	}
	kib, err := usage.Private(pid)
	if err != nil {
		return err
	}
	b.single("cli/memory", "private memory of `solehold run`", "KiB", report.Figure{Median: float64(kib)})
	b.single("cli/idle", "voluntary context switches of it", "/s", report.Figure{Median: rates[0]})
	all, err := b.plan(false).Run(turn.Side{Name: "status", Sample: whole(t.solehold, "status", dir)})
	if err != nil {
		return err
	}
	b.single("cli/status", "`solehold status DIR`, spawn to end", "ns", report.FigureOf(all[0], true))
	return nil
}

// whole is the time from spawn to end of a program that succeeds.
func whole(args ...string) func() (float64, error) {
	return func() (float64, error) {
		begin := helper.Now()
		_, err := exec.Command(args[0], args[1:]...).Output()
		return float64(helper.Now() - begin), withStderr(err)
	}
}
