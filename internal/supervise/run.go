package supervise

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/policy"
)

// Run takes the directory, runs the command to its end, or as often as the
// policy wants it, and gives the directory back when the last process of its
// tree is gone. The error is that of the lock, a *CommandError, an *OrphanError
// or a *GivenUpError; then the command was not started.
func Run(ctx context.Context, c Config) (End, error) {
	path, err := lookPath(c.Command[0])
	if err != nil {
		return End{}, err
	}
	if err := able(c); err != nil {
		return End{}, err
	}
	r := &runner{
		c: c, path: path, host: newHost(), signals: make(chan os.Signal, 32),
		answers: make(chan policy.Input), saved: make(chan savedIncident), changed: make(chan change), done: make(chan struct{}),
	}
	// Before anything is taken: a signal that comes between must not be lost.
	r.listen()
	defer r.deafen()
	return r.serve(func() (End, error) { return r.run(ctx) })
}

func (r *runner) run(ctx context.Context) (End, error) {
	starter := newStarter(r.c.Started)
	r.inherit()
	if err := r.acquire(ctx); err != nil {
		starter.tell(err)
		return End{}, err
	}
	r.listenToAll()
	defer close(r.done)
	err := r.prepare()
	starter.tell(err)
	if err != nil {
		r.close()
		return End{}, errors.Join(err, r.giveBack(r.lock.Abandon)) // nothing was done in it
	}
	go r.keepSlim()
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

// runner is one command under one lock. Its loop is the only goroutine that
// waits for processes, and the only one that uses what has no lock of its own.
type runner struct {
	c       Config
	path    string
	lock    *solehold.Lock
	agent   *agent // nil without a lock of a cluster
	signals chan os.Signal
	answers chan policy.Input // of goroutines that the machine's commands started
	saved   chan savedIncident
	changed chan change   // of the file to reload
	newest  int           // the number of the newest of them
	done    chan struct{} // closed when the loop has ended: nobody reads answers any more

	host // what this system has for it
	driver
	prober *prober // nil without probes
	relay  *relay
	output *output // nil where the command has our descriptors
	memory *memory // nil where nothing is remembered

	life
	lives    int            // begun so far
	last     End            // of the life before
	failed   error          // why nothing was started at all
	stopWith syscall.Signal // what the stop of all was asked with, 0 before
	released bool           // the directory was asked for
	over     bool
	lost     error
	incident string         // the last one that was saved
	words    sync.WaitGroup // last ones that are being added to an incident
}

// prepare makes what outlives a single life of the command, and asks for the
// first one.
func (r *runner) prepare() error {
	if err := r.settleIn(); err != nil {
		return err
	}
	r.relay = newRelay(r)
	var remembered policy.Memory
	if r.c.judged() {
		r.output = newOutput(r.c)
		r.memory = openMemory(FailuresName, r.lock.Dir(), r.c.Options.StateDir, r.c.Say)
		remembered = r.memory.load()
	}
	err := r.newProber()
	if err == nil {
		r.driver, err = drive(r.c.Judge(policy.Run), remembered, r.do)
	}
	if err != nil {
		return err
	}
	if r.c.Retry || r.attended() {
		r.feed(policy.Input{Kind: policy.Reset}) // a person asks for it
		r.forgive()
	}
	r.watchFile()
	r.feed(policy.Input{Kind: policy.Begin})
	return r.failed
}

// forgive takes back a give-up of a watch, too.
func (r *runner) forgive() {
	m := r.memory
	if m == nil {
		if m = openMemory(FailuresName, r.lock.Dir(), r.c.Options.StateDir, r.c.Say); m == nil {
			return
		}
		defer m.close()
	}
	m.forgive()
}

func (r *runner) log(e solehold.Event) {
	if err := r.lock.Log(e); err != nil {
		r.c.Say("%v", err)
	}
}

// loop goes on until all is over and nothing of the tree is left.
func (r *runner) loop() {
	lost, asked := r.lock.Context().Done(), r.lock.ReleaseRequested()
	for {
		r.reap()
		if r.settle(); r.over {
			return
		}
		fromAgent, due := r.fromAgent()
		select {
		case <-r.children:
		case s := <-r.signals:
			r.signal(signalOf(s))
		case in := <-r.answers:
			r.feed(in)
			r.pulse()
			r.probed()
		case c := <-r.changed:
			r.reload(c)
		case s := <-r.saved:
			r.saw(s)
		case n := <-r.relay.notices:
			r.notice(n)
		case <-r.relay.due():
			r.relay.pet(r.machine.State())
		case <-r.timer.C:
			r.feed(policy.Input{Kind: policy.Tick})
		case <-lost:
			lost = nil
			r.lost = context.Cause(r.lock.Context())
			r.c.Say("%v; stopping the command", r.lost)
			r.askStop(r.c.StopSignal, "the lock was lost")
		case <-asked:
			asked = nil
			r.requested(r.lock.ReleaseRequest())
		case m, ok := <-fromAgent:
			r.hear(m, ok)
		case <-due:
			r.deadlineOfAgent()
		case <-r.deadline:
			r.kill()
		}
	}
}

// requested ends everything for somebody who wants the directory. Who asks with
// our means has written that into the history already; one event for each
// request is enough.
func (r *runner) requested(q solehold.ReleaseRequest) {
	r.c.Say("asked to let go by %s; stopping the command", q)
	if !q.Logged {
		r.log(solehold.Event{Kind: journal.ReleaseRequested, Detail: "by " + q.String()})
	}
	r.released = true
	r.askStop(r.c.StopSignal, "the directory was asked for")
}

// answer brings what another goroutine found out to the loop.
func (r *runner) answer(in policy.Input) {
	select {
	case r.answers <- in:
	case <-r.done:
	}
}

// pulse writes down the newest answer.
func (r *runner) pulse() {
	at, result := r.prober.newest()
	r.memory.pulse(journal.Pulse{
		Token: r.lock.Token(), Time: at.UTC(), State: r.machine.State().String(),
		Verdict: result.Verdict.String(), Detail: result.Detail, Took: result.Took.Seconds(),
	})
}

// finish gives the directory back, now that nobody works in it any more.
func (r *runner) finish() (End, error) {
	within(drain, func() bool { r.words.Wait(); return true })
	if err := r.lock.SetChild(nil); err != nil {
		r.c.Say("%v", err)
	}
	if err := r.giveBack(r.lock.Release); err != nil {
		r.c.Say("%v", err)
	}
	r.close()
	r.last.Lost = r.lost
	return r.last, nil
}

// close gives back what is ours alone.
func (r *runner) close() {
	r.host.close()
	r.relay.close()
	r.output.close()
	r.memory.close()
}
