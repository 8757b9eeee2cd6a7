//go:build !solehold_portable

package supervise_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

const (
	interrupt = "\x03"
	quit      = "\x1c"
	suspend   = "\x1a"
)

// echoes is a command that answers each line.
const echoes = `trap 'echo WINCH' WINCH; echo up; while read line; do echo "<$line>"; done; exit 4`

func TestCommandHasTheTerminal(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	job := c.run(echoes)
	c.screen.await("up", 1)
	if front := c.front(); front != c.command(job) {
		t.Errorf("group %d has the terminal, not the command's, %d", front, c.command(job))
	}
	c.typed("hello\n")
	c.screen.await("<hello>", 1)
	c.typed("\x04") // end of input
	if n := c.next("ended"); n.Code != 4 || n.Front != job {
		t.Errorf("%+v; want code 4 and the terminal with the job, %d", n, job)
	}
	c.released()
}

func TestInterruptKey(t *testing.T) {
	t.Parallel()
	for key, sig := range map[string]syscall.Signal{interrupt: syscall.SIGINT, quit: syscall.SIGQUIT} {
		c := newConsole(t)
		job := c.run("echo up; exec sleep 1000")
		c.screen.await("up", 1)
		c.typed(key)
		if n := c.next("ended"); syscall.Signal(n.Signal) != sig || n.Front != job {
			t.Errorf("%+v; want death by %v and the terminal with the job, %d", n, sig, job)
		}
		if text := c.screen.text(); strings.Contains(text, "goroutine") || strings.Contains(text, "solehold:") {
			t.Error(text)
		}
		c.released()
	}
}

func TestInterruptKeyComesOnce(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	job := c.run(`trap 'echo INT' INT; trap 'echo USR1; exit 3' USR1; echo up; while :; do sleep 0.01; done`)
	c.screen.await("up", 1)
	c.typed(interrupt)
	c.screen.await("INT", 1)
	must(t, syscall.Kill(job, syscall.SIGUSR1))
	if n := c.next("ended"); n.Code != 3 {
		t.Errorf("%+v", n)
	}
	if text := c.screen.text(); strings.Count(text, "INT") != 1 {
		t.Error(text)
	}
}

// A script that runs us in a loop ends by ^C, as with the command alone.
func TestInterruptKeyEndsTheScriptAround(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.job(order{Args: []string{"sh", "-c", `while :; do "$SOLEHOLD" run "$DIR" -- sh -c 'echo up; exec sleep 1000'; echo again; done`}})
	c.screen.await("up", 1)
	c.typed(interrupt)
	if n := c.next("ended"); syscall.Signal(n.Signal) != syscall.SIGINT {
		t.Errorf("%+v", n)
	}
	if text := c.screen.text(); strings.Contains(text, "again") {
		t.Error(text)
	}
	c.released()
}

func TestSuspendKey(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	job := c.run(echoes)
	c.screen.await("up", 1)
	child := c.command(job)
	for i := range 3 {
		c.typed(suspend)
		if n := c.next("stopped"); n.Front != job || state(child) != 'T' || state(job) != 'T' {
			t.Fatalf("%+v, wrapper %c, command %c; want both T and the terminal with the job, %d", n, state(job), state(child), job)
		}
		if st := c.status(); st.State != "HELD" {
			t.Errorf("status is %s", st.State)
		}
		c.tell("fg")
		c.next("continued")
		c.typed("hello\n")
		c.screen.await("<hello>", i+1)
		if front := c.front(); front != child {
			t.Errorf("group %d has the terminal, not the command's, %d", front, child)
		}
	}
	c.typed("\x04")
	if n := c.next("ended"); n.Code != 4 {
		t.Errorf("%+v", n)
	}
}

// The rest of the pipeline, and the script, stop and go on with it.
func TestSuspendKeyStopsTheWholeJob(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	job := c.job(order{Args: []string{"sh", "-c", `"$SOLEHOLD" run "$DIR" -- sh -c 'echo up; while read line; do echo "<$line>"; done' | cat; exit 6`}})
	c.screen.await("up", 1)
	c.typed(suspend)
	c.next("stopped")
	for _, p := range marked(c.mark) {
		if p.pid != c.shell.pid() {
			testneed.Until(t, p.String()+" is stopped", func() bool { return state(p.pid) == 'T' })
		}
	}
	c.tell("fg")
	c.next("continued")
	c.typed("hello\n\x04")
	c.screen.await("<hello>", 1)
	if n := c.next("ended"); n.Code != 6 || n.PID != job {
		t.Errorf("%+v", n)
	}
}

// In the background, a command that reads the terminal is stopped, and we with
// it; nobody takes the terminal from the shell.
func TestBackgroundDoesNotTakeTheTerminal(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	job := c.job(order{Background: true, Args: []string{tool, "run", c.dir, "--", "sh", "-c", echoes}})
	n := c.next("stopped")
	if n.Front != n.Shell {
		t.Errorf("%+v; want the terminal with the shell", n)
	}
	child := c.command(job)
	if state(child) != 'T' {
		t.Errorf("the command is in state %c", state(child))
	}
	c.tell("bg") // it reads again
	c.next("continued")
	if n := c.next("stopped"); n.Front != n.Shell {
		t.Errorf("%+v; want the terminal with the shell", n)
	}
	c.tell("fg")
	c.next("continued")
	c.typed("hello\n")
	c.screen.await("<hello>", 1)
	c.typed("\x04")
	c.next("ended")
}

// A running job that comes to the front gets the terminal and no signal.
func TestRunningJobComesToTheFront(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	job := c.job(order{Background: true, Args: []string{tool, "run", c.dir, "--", "sh", "-c", "echo up; while [ ! -e go ]; do sleep 0.01; done; " + echoes}})
	c.screen.await("up", 1)
	c.tell("front")
	testneed.Until(t, "the job is in front", func() bool { return c.front() == job })
	must(t, os.WriteFile(c.path("go"), nil, 0o600))
	c.typed("hello\n")
	c.screen.await("<hello>", 1)
	c.typed("\x04")
	if n := c.next("ended"); n.Code != 4 {
		t.Errorf("%+v", n)
	}
}

// A quiet one goes on in the background, and the shell keeps the terminal.
func TestBackgroundGoesOn(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.job(order{Background: true, Args: []string{tool, "run", c.dir, "--", "sh", "-c", "echo up; exit 5"}})
	if n := c.next("ended"); n.Code != 5 || n.Front != n.Shell {
		t.Errorf("%+v", n)
	}
}

// With its files elsewhere the command does not read the terminal, but ^Z and ^C
// are still for the job.
func TestKeysWithFilesElsewhere(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	job := c.job(order{Quiet: true, Args: []string{tool, "run", c.dir, "--", "sleep", "1000"}})
	testneed.Until(t, "the command runs", func() bool { return len(children(job)) == 1 && strings.HasPrefix(commandOf(children(job)[0]), "sleep") })
	child := c.command(job)
	c.typed(suspend)
	c.next("stopped")
	testneed.Until(t, "the command is stopped", func() bool { return state(child) == 'T' })
	c.tell("fg")
	c.next("continued")
	testneed.Until(t, "the command goes on", func() bool { return state(child) == 'S' })
	c.typed(interrupt)
	if n := c.next("ended"); syscall.Signal(n.Signal) != syscall.SIGINT {
		t.Errorf("%+v", n)
	}
}

// Somebody stops the command for a while and lets it go on, as a debugger does
// and as those do who slow programs down. That is between the two.
func TestStopFromOutside(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	job := c.job(order{Background: true, Args: []string{tool, "run", c.dir, "--", "sh", "-c", `trap 'exit 7' USR1; echo up; while :; do sleep 0.01; done`}})
	c.screen.await("up", 1)
	child := c.command(job)
	must(t, syscall.Kill(child, syscall.SIGSTOP))
	testneed.Until(t, "the command is stopped", func() bool { return state(child) == 'T' })
	must(t, syscall.Kill(child, syscall.SIGCONT))
	must(t, syscall.Kill(job, syscall.SIGUSR1))
	if n := c.next("ended"); n.Code != 7 {
		t.Errorf("%+v", n)
	}
}

func TestWindowSize(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.run(`trap 'stty size; exit 0' WINCH; echo up; while :; do sleep 0.01; done`)
	c.screen.await("up", 1)
	control(t, c.master, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 33, Col: 77})
	})
	c.screen.await("33 77", 1)
	c.next("ended")
}

// Without a shell nobody could continue a stopped wrapper: ^Z does nothing, as
// for any program there.
func TestSuspendKeyWithoutAShell(t *testing.T) {
	t.Parallel()
	c := newConsole(t, "sh", "-c", `exec "$SOLEHOLD" run "$DIR" -- sh -c '`+strings.ReplaceAll(echoes, "'", `'\''`)+`'`)
	c.screen.await("up", 1)
	c.typed(suspend)
	c.typed("hello\n")
	c.screen.await("<hello>", 1)
	c.typed("\x04")
	c.shell.exits(4)
}
