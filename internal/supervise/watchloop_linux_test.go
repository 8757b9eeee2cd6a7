//go:build !solehold_portable

package supervise_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/health"
	"github.com/solehold/solehold/internal/supervise"
	"github.com/solehold/solehold/internal/testneed"
)

// crashing is a yard whose service ends as soon as it is started.
func crashing(t *testing.T) *yard {
	t.Helper()
	y := newYard(t)
	y.service = y.script("crash", `echo "start $$" >>`+y.path("lives")+`; exit 1`)
	return y
}

// once runs a watch as cron does, and waits until what it started has ended.
func (y *yard) once(code int, flags ...string) (said string) {
	y.t.Helper()
	r := y.watch(append([]string{"--once"}, flags...)...)
	r.exits(code)
	testneed.Until(y.t, "nobody has it", func() bool { return y.status().State == "FREE" })
	return r.errs.all()
}

// A service that does not stay up is started so many times and no more, though
// each watch is a new process. What a person does takes that back.
func TestWatchGivesUp(t *testing.T) {
	t.Parallel()
	y := crashing(t)
	for range 2 {
		y.once(0, "--restart-max=2")
	}
	if said := y.once(69, "--restart-max=2"); !strings.Contains(said, "giving up") {
		t.Errorf("said: %q", said)
	}
	if said := y.once(69, "--restart-max=2"); !strings.Contains(said, "earlier starts failed too often") {
		t.Errorf("said: %q", said)
	}
	y.started(2)
	y.once(0, "--restart-max=2", "--retry")
	y.once(0, "--restart-max=2")
	y.once(69, "--restart-max=2")
	y.started(4)
	// Even without a terminal: a person asks for it.
	y.run(nil, "--retry", "--", y.service).exits(1)
	y.once(0, "--restart-max=2")
	y.started(6)
	y.alone()
}

// A watch that goes on while nothing may be started hears when a person has done
// so from a terminal.
func TestTerminalLiftsAGiveUp(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	y := &yard{site: c.site}
	y.service = y.script("crash", `echo "start $$" >>`+y.path("lives")+`; exit 1`)
	y.probe = y.script("probe", `echo asked >>`+y.path("asked")+`; exit 1`)
	y.once(0, "--restart-max=1")
	y.once(69, "--restart-max=1")
	loop := y.watch("--restart-max=1")
	loop.errs.await("earlier starts failed too often", 1)
	y.rounds(3)
	y.started(1)
	c.job(order{Args: []string{tool, "run", c.dir, "--", y.service}})
	if n := c.next("ended"); n.Code != 1 {
		t.Errorf("%+v", n)
	}
	loop.exits(69) // it started it once more
	y.started(3)
	if said := loop.errs.all(); strings.Count(said, "earlier starts failed too often") != 1 || strings.Count(said, "giving up") != 1 {
		t.Errorf("said: %q", said)
	}
	c.shell.kill()
}

// A give-up of a run beside it is one for the watch, too, until it is taken back.
func TestWatchHeedsTheGiveUpOfARun(t *testing.T) {
	t.Parallel()
	y := crashing(t)
	r := y.run(nil, "--restart=always", "--restart-max=1", "--restart-delay=0", "--", y.service)
	r.exits(69)
	y.started(2)
	y.once(69)
	y.started(2)
	y.once(0, "--retry")
	y.started(3)
	y.once(0)
	y.started(4)
}

// A delay that a failed start has earned is kept over the end of the watch.
func TestWatchBacksOff(t *testing.T) {
	t.Parallel()
	y := crashing(t)
	delay := []string{"--restart-delay=1h", "--restart-delay-max=1h"}
	y.once(0, delay...)
	if said := y.once(1, delay...); !strings.Contains(said, "the next one has to wait") {
		t.Errorf("said: %q", said)
	}
	loop := y.watch(delay...)
	loop.errs.await("waiting ", 1)
	loop.signal(syscall.SIGTERM)
	loop.exits(0)
	y.started(1)
	must(t, os.Remove(y.dir+"/.solehold/watch.json")) // the twin: without the memory it is started
	y.once(0, delay...)
	y.started(2)
}

// overtaken is a watch that sees that nobody has the directory, and before it acts
// somebody has.
func overtaken(args []string) {
	dir := args[0]
	var lock *solehold.Lock
	w := supervise.Watch{
		Config: supervise.Config{
			Dir: dir, Command: []string{"true"}, Say: func(f string, a ...any) { fmt.Printf(f+"\n", a...) },
			Health: &supervise.Check{
				Probe: func(r health.Runner) (health.Probe, error) {
					return health.Exec([]string{"false"}, health.ExecOptions{Runner: r})
				},
				AnyAnswer: true,
			},
		},
		Once: true, Launch: []string{"relaunch", dir, "--", "true"},
		Look: func(ctx context.Context) solehold.Status {
			var err error
			if lock, err = solehold.Acquire(ctx, dir, nil); err != nil {
				fmt.Println(err)
			}
			return solehold.Status{Dir: dir, State: solehold.Free}
		},
	}
	end, err := w.Run(context.Background())
	fmt.Printf("held %v, cause %v, %v\n", end.Held, end.Cause, err)
	runtime.KeepAlive(lock)
}

// relaunch is how this binary calls the one under test: relaunch FLAG DIR -- COMMAND
func relaunch(args []string) {
	syscall.Exec(os.Getenv(toolVar), append([]string{"solehold", "run"}, args...), os.Environ())
}

// A start that comes second is no failure: the line says who has it.
func TestWatchIsOvertaken(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	r := y.start(nil, self(t), "overtaken", y.dir)
	r.exits(0)
	said := r.out.all()
	if !strings.Contains(said, " already has its owner: pid "+itoa(r.pid())) || !strings.Contains(said, ". Nothing to do.\nheld true, cause launch, <nil>\n") {
		t.Errorf("said: %q", said)
	}
	if e := y.events("recovery"); len(e) != 0 {
		t.Errorf("%+v", e)
	}
}
