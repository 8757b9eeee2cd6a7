package supervise

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/procfs"
)

// The rest of a tree is killed anew first after sweepAgain, then less and less
// often: processes that fork faster than they can be listed are met again, and
// one that cannot be killed (another user's, or waiting for a disk) costs little.
const (
	sweepAgain = 50 * time.Millisecond
	sweepMost  = 2 * time.Second
)

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
	r.listen()
	defer signal.Stop(r.children)
	defer signal.Stop(r.signals)
	inherited := inheritedFiles()
	if err := r.acquire(ctx); err != nil {
		return End{}, err
	}
	r.listenToAll()
	if err := r.start(inherited); err != nil {
		return End{}, errors.Join(err, r.lock.Release())
	}
	later := time.AfterFunc(slimAfter, func() { slim(r.tree.proc) })
	defer later.Stop()
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
		if named, ok := errors.AsType[*exec.Error](err); ok {
			err = named.Err // it names the command again
		}
		return "", &CommandError{Command: command, Err: err}
	}
	return path, nil
}

// notStarted is the error of a program that was found and cannot be run.
func notStarted(command string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		// The program is there, so what is missing is what its first line or
		// its header names.
		err = errors.New("the interpreter or loader that it asks for does not exist")
	}
	return &CommandError{Command: command, Err: err}
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
	rested   bool // what the command left behind was asked to end
	deadline <-chan time.Time
	again    time.Duration // until the next SIGKILL
	lost     error
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
	}
	r.child, err = spawn(spec)
	if err != nil {
		group.remove()
		return notStarted(r.c.Command[0], err)
	}
	if r.child.grouped {
		r.tree.cgroup = group
	} else {
		group.remove()
	}
	if err := r.lock.SetChild(&solehold.Child{PID: r.child.pid, Command: r.c.Command, Cgroup: r.tree.cgroup.name()}); err != nil {
		r.c.Say("%v", err)
	}
	r.log(solehold.Event{Kind: journal.ChildStarted, PID: r.child.pid, Name: solehold.CommandLine(r.c.Command)})
	return nil
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
		if r.reap(); r.end != nil {
			if r.tree.empty() {
				return
			}
			r.stopRest()
		}
		select {
		case <-r.children:
		case s := <-r.signals:
			r.signal(s.(syscall.Signal))
		case <-lost:
			lost = nil
			r.lost = context.Cause(r.lock.Context())
			r.c.Say("%v; stopping the command", r.lost)
			r.stop(r.c.StopSignal)
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
		ended := status.Exited() || status.Signaled()
		switch first := pid == r.child.pid && r.end == nil; { // later it is another one
		case first && ended:
			r.ended(status)
		case first && status.Stopped():
			r.stopped(status.StopSignal())
		case ended:
			r.tree.reaped(pid)
		}
	}
}

// ended notes how the command ended.
func (r *runner) ended(status syscall.WaitStatus) {
	r.end = &End{}
	if status.Exited() {
		r.end.Code = status.ExitStatus()
	} else {
		r.end.Signal, r.end.Core = status.Signal(), status.CoreDump()
	}
	hadKeys := r.tty.takeBack(r.child.pid)
	r.end.Keys = hadKeys && (r.end.Signal == syscall.SIGINT || r.end.Signal == syscall.SIGQUIT)
	e := solehold.Event{Kind: journal.ChildExited, PID: r.child.pid, Name: solehold.CommandLine(r.c.Command), Detail: r.end.String()}
	if r.end.Signal != 0 {
		e.Signal = SignalName(r.end.Signal)
	} else {
		e.Status = &r.end.Code
	}
	if left := r.left(); left != "" {
		e.Detail += "; left behind and stopped: " + left
		if !r.stopping { // else they are on their way
			r.c.Say("the command has ended (%s); stopping what it left behind: %s", r.end, left)
		}
	}
	r.log(e)
}

// left names what the command left behind. Mostly there is nothing, and then no
// other process is looked at.
func (r *runner) left() string {
	if r.tree.empty() {
		return ""
	}
	return r.tree.names()
}

// signal passes one on. Those that ask to end begin the stop of the whole tree.
func (r *runner) signal(s syscall.Signal) {
	switch {
	case r.end != nil:
		// The command is gone, its pid may be another's, and what is left was
		// asked to end already.
	case s == syscall.SIGTERM:
		r.stop(r.c.StopSignal)
	case isStop(s):
		r.stop(s)
	case s == syscall.SIGCONT:
		r.continued()
	case s == syscall.SIGTSTP:
		r.child.signalGroup(s)
		if r.tty == nil && !orphanedGroup(r.tree.proc) {
			suspend(os.Getpid())
		}
	default:
		r.child.signal(s)
	}
}

// stop asks the whole group to end and sets the time for SIGKILL. SIGCONT
// follows, since a stopped process would not hear the request.
func (r *runner) stop(sig syscall.Signal) {
	if r.end != nil {
		return // as in signal
	}
	r.child.signalGroup(sig)
	r.child.signalGroup(syscall.SIGCONT)
	r.setDeadline()
}

// stopRest asks what the command left behind, wherever it has hidden. Once: what
// a listing misses, because it forks just then, is met by kill.
func (r *runner) stopRest() {
	if r.rested {
		return
	}
	r.rested = true
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
		r.killing, r.again = true, sweepAgain
		r.c.Say("still running after %s, killing: %s", r.c.Grace, r.tree.names())
		r.log(solehold.Event{Kind: journal.Forced, PID: r.child.pid, Detail: "killed after " + r.c.Grace.String() + ": " + r.tree.names()})
	}
	r.tree.kill()
	r.deadline = time.After(r.again)
	r.again = min(2*r.again, sweepMost)
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
