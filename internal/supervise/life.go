package supervise

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/policy"
)

// The rest of a tree is killed anew first after sweepAgain, then less and less
// often: processes that fork faster than they can be listed are met again, and
// one that cannot be killed (another user's, or waiting for a disk) costs little.
const (
	sweepAgain = 50 * time.Millisecond
	sweepMost  = 2 * time.Second
)

// parting is how long a command that cannot be asked by us has to end after a request
// to let go. One that guards itself may have heard that before us, and given up its
// seat already: then it looks like any other.
const parting = time.Second

// notFound is the code of a command that can be run no more, as shells have it.
const notFound = 127

// life is the time from one start of the command to the end of its tree.
type life struct {
	id       uint64 // of the machine's Start
	child    *child // nil between lives
	started  time.Time
	alive    context.Context    // ends with the command: for its probes
	die      context.CancelFunc // ends alive
	end      *End               // once the command itself has ended
	told     bool               // the machine knows that
	ready    bool               // it has been said to serve
	stopping bool
	deaf     bool // it cannot be asked to end
	killing  bool
	rested   bool // what the command left behind was asked to end
	deadline <-chan time.Time
	killAt   time.Time     // of the first SIGKILL
	again    time.Duration // until the next SIGKILL
	unwell   string        // the incident that it is stopped for
}

// start runs the command.
func (r *runner) start(id uint64) {
	err := r.spawn(id)
	switch {
	case err == nil:
		r.feed(policy.Input{Kind: policy.ChildStarted, For: id})
	case r.lives > 0:
		r.c.Say("%v", err)
		r.last = End{Code: notFound}
		r.feed(policy.Input{Kind: policy.Exited, For: id, Exit: policy.Exit{Code: notFound}, TreeDead: true, Reason: err.Error()})
	default:
		r.failed = err
		r.over = true
	}
}

func (r *runner) spawn(id uint64) error {
	if err := r.agent.check(); err != nil {
		return err
	}
	child, err := r.fork()
	if err != nil {
		return notStarted(r.c.Command[0], err)
	}
	r.lives++
	r.life = life{id: id, child: child, started: time.Now()}
	r.alive, r.die = context.WithCancel(context.Background())
	r.relay.beats.beat(true)
	if err := r.lock.SetChild(&solehold.Child{PID: child.pid, Command: r.c.Command, Cgroup: r.groupName()}); err != nil {
		r.c.Say("%v", err)
	}
	r.log(solehold.Event{Kind: journal.ChildStarted, PID: child.pid, Name: solehold.CommandLine(r.c.Command)})
	return nil
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

// settle tells the machine of the command's end, and again when the last of its
// tree is gone.
func (r *runner) settle() {
	if r.child == nil || r.end == nil {
		return
	}
	in := policy.Input{Kind: policy.Exited, For: r.id, Exit: exitOf(*r.end), Reason: r.end.String()}
	if r.tree.empty() {
		in.TreeDead = true
		r.child.close()
		if r.unwell != "" {
			r.lastWords(r.unwell)
		}
		r.last, r.life = *r.end, life{}
		r.feed(in)
		return
	}
	if !r.told {
		r.told = true
		r.feed(in)
		r.stopRest()
	}
}

// ended notes how the command ended.
func (r *runner) ended(end End) {
	r.die()
	r.end = &end
	if end.Signal == syscall.SIGKILL && !r.killing {
		r.heed()
	}
	r.explain(r.end)
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
	case s == syscall.SIGTERM:
		r.askStop(r.c.StopSignal, "stopped by SIGTERM")
	case isStop(s):
		r.askStop(s, "stopped by "+SignalName(s))
	default:
		r.passOn(s)
	}
}

// askStop ends everything. Asked again, the command hears that too: the second
// ^C means more than the first to many.
func (r *runner) askStop(sig syscall.Signal, why string) {
	if r.stopWith != 0 && r.child != nil {
		r.stop(sig)
		return
	}
	r.stopWith = sig
	r.feed(policy.Input{Kind: policy.StopRequested, Reason: why})
}

// stop asks the whole group to end and sets the time for the kill.
func (r *runner) stop(sig syscall.Signal) {
	if r.end != nil {
		return // the command is gone, and what is left was asked to end already
	}
	grace := r.c.Grace
	if r.deaf = !r.askGroup(sig); r.deaf {
		grace = 0
		if r.released {
			grace = min(parting, r.c.Grace)
		}
	}
	r.setDeadline(grace)
}

// stopRest asks what the command left behind, wherever it has hidden. Once: what
// a listing misses, because it forks just then, is met by kill.
func (r *runner) stopRest() {
	if r.rested {
		return
	}
	r.rested = true
	r.tree.ask()
	r.setDeadline(r.c.Grace)
}

func (r *runner) setDeadline(grace time.Duration) {
	if !r.stopping {
		r.stopping, r.deadline, r.killAt = true, time.After(grace), time.Now().Add(grace)
	}
}

// kill ends the whole tree, again and again until it is empty.
func (r *runner) kill() {
	if !r.killing {
		r.killing, r.again = true, sweepAgain
		said, detail := "still running after "+r.c.Grace.String(), "killed after "+r.c.Grace.String()
		switch {
		case r.deaf:
			said, detail = "it cannot be asked to end", "killed, since it cannot be asked to end"
		case !r.stopping || time.Now().Before(r.killAt): // the time of a lock over several machines is over
			said, detail = "still running after less than "+r.c.Grace.String(), "killed after less than "+r.c.Grace.String()
		}
		r.c.Say("%s, killing: %s", said, r.tree.names())
		r.log(solehold.Event{Kind: journal.Forced, PID: r.child.pid, Detail: detail + ": " + r.tree.names()})
	}
	r.tree.kill()
	r.deadline = time.After(r.again)
	r.again = min(2*r.again, sweepMost)
}
