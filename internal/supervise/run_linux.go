package supervise

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/procfs"
)

// sweepAgain is how often the rest of a tree is killed anew: processes that
// fork faster than they can be listed are met again.
const sweepAgain = 100 * time.Millisecond

// Run takes the directory, runs the command to its end and gives the directory
// back when the last process of its tree is gone. The error is that of the
// lock, a *CommandError or an *OrphanError; then the command was not started.
func Run(ctx context.Context, c Config) (End, error) {
	path, err := lookPath(c.Command[0])
	if err != nil {
		return End{}, err
	}
	r := &runner{c: c, path: path, children: make(chan os.Signal, 1), signals: make(chan os.Signal, 32)}
	// Before anything is taken: a signal that comes between must not be lost.
	signal.Notify(r.children, syscall.SIGCHLD)
	signal.Notify(r.signals, forwarded()...)
	defer signal.Stop(r.children)
	defer signal.Stop(r.signals)
	inherited := inheritedFiles()
	if err := r.acquire(ctx); err != nil {
		return End{}, err
	}
	if err := r.start(inherited); err != nil {
		return End{}, errors.Join(err, r.lock.Release())
	}
	r.loop()
	return r.finish()
}

func lookPath(command string) (string, error) {
	path, err := exec.LookPath(command)
	if errors.Is(err, exec.ErrDot) {
		err = nil // the user wrote it so, as a shell would run it
	}
	if err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			err = os.ErrNotExist
		}
		return "", &CommandError{Command: command, Err: err}
	}
	return path, nil
}

// runner is one command under one lock. Its loop is the only goroutine that
// waits for processes.
type runner struct {
	c        Config
	path     string
	lock     *solehold.Lock
	child    *child
	tree     *tree
	tty      *terminal
	children chan os.Signal
	signals  chan os.Signal

	end      *End // once the command itself has ended
	stopping bool
	killing  bool
	deadline <-chan time.Time
	lost     error
}

// acquire takes the lock. A signal that asks to end ends the wait for it.
func (r *runner) acquire(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case s := <-r.signals:
				if isStop(s) {
					cancel(&SignalError{Signal: s.(syscall.Signal)})
					return
				}
			case <-done:
				return
			}
		}
	}()
	lock, err := solehold.Acquire(ctx, r.c.Dir, &r.c.Options)
	var held *solehold.HeldError
	if errors.As(err, &held) && held.Holder().WrapperGone && r.c.Orphans == OrphansStop {
		r.c.Say("%v; stopping it", held)
		if err := stopHolders(ctx, r.c); err != nil {
			return err
		}
		lock, err = solehold.Acquire(ctx, r.c.Dir, &r.c.Options)
	}
	if err != nil {
		return err
	}
	r.lock = lock
	return r.unguarded(ctx)
}

// SignalError says that a signal ended the wait for the lock.
type SignalError struct {
	// Signal is the one that came.
	Signal syscall.Signal
}

// Error names the signal.
func (e *SignalError) Error() string {
	return "stopped by " + SignalName(e.Signal) + " before the command was started"
}

// unguarded deals with the command of an earlier run that lives on without the lock.
func (r *runner) unguarded(ctx context.Context) error {
	orphan := r.lock.Orphan()
	if orphan == nil {
		return nil
	}
	if r.c.Orphans != OrphansStop {
		return errors.Join(&OrphanError{Dir: r.lock.Dir(), Owner: *orphan}, r.lock.Release())
	}
	r.c.Say("%s: %s of an earlier run still works there without the lock; stopping it", r.lock.Dir(), orphan)
	err := stopOrphan(ctx, r.c, *orphan)
	r.log(solehold.Event{Kind: journal.Forced, PID: orphan.PID, Detail: "stopped what an earlier run left: " + orphan.String()})
	if err != nil {
		return errors.Join(err, r.lock.Release())
	}
	return nil
}

// start runs the command.
func (r *runner) start(inherited []int) error {
	r.tree = newTree(procfs.Default())
	r.tty = openTerminal()
	spec := spec{
		path: r.path, args: r.c.Command, inherited: inherited, tty: r.tty,
		env: environment(r.lock),
	}
	if r.c.Hold != HoldNone {
		spec.held = r.lock.Share()
	}
	group, err := newCgroup()
	if err == nil {
		spec.cgroup = group
		r.tree.cgroup = group
	}
	r.child, err = spawn(spec)
	if err != nil {
		group.remove()
		return &CommandError{Command: r.c.Command[0], Err: err}
	}
	if err := r.lock.SetChild(&solehold.Child{PID: r.child.pid, Cgroup: group.name()}); err != nil {
		r.c.Say("%v", err)
	}
	r.log(solehold.Event{Kind: journal.ChildStarted, PID: r.child.pid, Name: solehold.CommandLine(r.c.Command)})
	return nil
}

// environment tells the command whose directory it works in. Values of a run
// around this one are replaced.
func environment(l *solehold.Lock) []string {
	mine := map[string]string{
		solehold.DirVar: l.Dir(), solehold.NameVar: l.Name(), solehold.TokenVar: strconv.FormatUint(l.Token(), 10),
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return mine[name] != ""
	})
	for name, value := range mine {
		env = append(env, name+"="+value)
	}
	return env
}

func (r *runner) log(e solehold.Event) {
	if err := r.lock.Log(e); err != nil {
		r.c.Say("%v", err)
	}
}

// loop goes on until the command has ended and nothing of its tree is left.
func (r *runner) loop() {
	lost, asked := r.lock.Context().Done(), r.lock.ReleaseRequested()
	for {
		if r.reap(); r.end != nil && r.tree.empty() {
			return
		}
		select {
		case <-r.children:
		case s := <-r.signals:
			r.signal(s.(syscall.Signal))
		case <-lost:
			lost = nil
			r.lost = context.Cause(r.lock.Context())
			r.c.Say("%v; stopping the command", r.lost)
			r.stop(syscall.SIGTERM)
		case <-asked:
			asked = nil
			r.log(solehold.Event{Kind: journal.ReleaseRequested})
			r.stop(r.c.StopSignal)
		case <-r.deadline:
			r.kill()
		}
	}
}

// reap collects every process that has ended or stopped.
func (r *runner) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WUNTRACED|syscall.WCONTINUED, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		switch {
		case pid != r.child.pid:
		case status.Stopped():
			r.tty.stopped(r.child.pid)
		case status.Exited(), status.Signaled():
			r.ended(status)
		}
	}
}

// ended notes how the command ended and stops what it left behind.
func (r *runner) ended(status syscall.WaitStatus) {
	r.end = &End{}
	if status.Exited() {
		r.end.Code = status.ExitStatus()
	} else {
		r.end.Signal, r.end.Core = status.Signal(), status.CoreDump()
	}
	r.tty.takeBack(r.child.pid)
	e := solehold.Event{Kind: journal.ChildExited, PID: r.child.pid, Name: solehold.CommandLine(r.c.Command), Detail: r.end.String()}
	if r.end.Signal != 0 {
		e.Signal = SignalName(r.end.Signal)
	} else {
		e.Status = &r.end.Code
	}
	if left := r.tree.names(); left != "" {
		e.Detail += "; left behind and stopped: " + left
		r.c.Say("the command has ended (%s); stopping what it left behind: %s", r.end, left)
		r.stopRest()
	}
	r.log(e)
}

// signal passes one on. Those that ask to end begin the stop of the whole tree.
func (r *runner) signal(s syscall.Signal) {
	switch {
	case s == syscall.SIGTERM:
		r.stop(r.c.StopSignal)
	case isStop(s):
		r.stop(s)
	case s == syscall.SIGCONT:
		r.tty.continued(r.child.pid)
	case s == syscall.SIGTSTP:
		r.child.signalGroup(s)
	default:
		r.child.signal(s)
	}
}

// stop asks the whole group to end and sets the time for SIGKILL. SIGCONT
// follows, since a stopped process would not hear the request.
func (r *runner) stop(sig syscall.Signal) {
	if r.end != nil {
		return // what is left was asked already
	}
	r.child.signalGroup(sig)
	r.child.signalGroup(syscall.SIGCONT)
	r.setDeadline()
}

// stopRest asks what the command left behind, wherever it has hidden.
func (r *runner) stopRest() {
	r.tree.signal(syscall.SIGTERM)
	r.tree.signal(syscall.SIGCONT)
	r.setDeadline()
}

func (r *runner) setDeadline() {
	if !r.stopping {
		r.stopping, r.deadline = true, time.After(r.c.Grace)
	}
}

// kill ends the whole tree, again and again until it is empty.
func (r *runner) kill() {
	if !r.killing {
		r.killing = true
		r.c.Say("still running after %s, killing: %s", r.c.Grace, r.tree.names())
		r.log(solehold.Event{Kind: journal.Forced, PID: r.child.pid, Detail: "killed after " + r.c.Grace.String() + ": " + r.tree.names()})
	}
	r.tree.kill()
	r.deadline = time.After(sweepAgain)
}

// finish gives the directory back, now that nobody works in it any more.
func (r *runner) finish() (End, error) {
	r.child.close()
	r.tree.cgroup.remove()
	if err := r.lock.SetChild(nil); err != nil {
		r.c.Say("%v", err)
	}
	if err := r.lock.Release(); err != nil {
		r.c.Say("%v", err)
	}
	r.end.Lost = r.lost
	return *r.end, nil
}

// isStop tells the signals that mean the end.
func isStop(s os.Signal) bool {
	return s == syscall.SIGTERM || s == syscall.SIGINT
}

// forwarded lists what is passed on. SIGURG is not there: Go's runtime sends it
// to itself all the time. SIGXFSZ is caught so that a file size limit is an
// error that can be told.
func forwarded() []os.Signal {
	return []os.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGALRM, syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGWINCH, syscall.SIGVTALRM, syscall.SIGIO, syscall.SIGPWR,
	}
}
