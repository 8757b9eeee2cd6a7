package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/health"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/policy"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
)

// Run watches until a signal ends it or, with Once, until its first decision. An
// error says that it could not begin.
func (w Watch) Run(ctx context.Context) (Watched, error) {
	if err := w.startable(); err != nil {
		return Watched{}, err
	}
	role, err := solehold.Attend(ctx, w.Dir, "watch", &w.Options)
	switch {
	case errors.Is(err, solehold.ErrAttended):
		return Watched{Busy: true}, nil
	case err != nil:
		return Watched{}, err
	}
	defer role.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	patience, hurry := context.WithCancel(ctx)
	defer hurry()
	l := &lookout{
		w: w, ctx: ctx, patience: patience, hurry: hurry, role: role, memory: openMemory(WatchName, w.Dir, w.Options.StateDir, w.Say),
		results: make(chan func(), 1), signals: make(chan os.Signal, 8),
	}
	defer l.memory.close()
	l.listen()
	defer signal.Stop(l.signals)
	defer l.settle(cancel)
	return l.run()
}

// startable finds out now what would else be found out when the service is down.
func (w Watch) startable() error {
	if w.Unit != "" {
		if err := units(); err != nil {
			return err
		}
	} else if _, err := lookPath(w.Command[0]); err != nil {
		return err
	}
	f, err := w.openLog()
	if f != nil {
		f.Close()
	}
	return err
}

// lookout is a watch at work. Its loop is the only goroutine that uses what has
// no lock of its own.
type lookout struct {
	w    Watch
	ctx  context.Context
	role *solehold.Attendant
	// patience ends, by hurry, when the watch is to end: what may take for ever is
	// not tried again then.
	patience context.Context
	hurry    func()
	memory   *memory
	prober   *prober
	asking   sync.WaitGroup // questions to the service
	results  chan func()    // what goroutines found out, for the loop to take in
	signals  chan os.Signal

	driver
	status  solehold.Status // as seen last
	told    bool            // that somebody has it
	givenUp bool            // as the files said when they were read last
	trigger policy.Command  // of the launch that is under way
	end     Watched
	over    bool
}

func (l *lookout) run() (Watched, error) {
	l.prober = &prober{identity: l.identity()}
	var err error
	if l.prober.health, err = newAsker(l.w.Health, nil, nil); err != nil {
		return Watched{}, err
	}
	if l.prober.startup, err = newAsker(l.w.Startup, nil, nil); err != nil {
		return Watched{}, err
	}
	config := l.w.Judge(policy.Watch)
	config.Once, config.LookTime = l.w.Once, 2*lookLimit(l.w.Options)
	if l.w.Retry {
		l.memory.forgive()
	}
	if l.driver, err = drive(config, l.memory.load(), l.carryOut); err != nil {
		return Watched{}, err
	}
	l.givenUp = l.memory.givenUp()
	l.feed(policy.Input{Kind: policy.Begin})
	for !l.over {
		select {
		case take := <-l.results:
			take()
		case <-l.timer.C:
			l.feed(policy.Input{Kind: policy.Tick})
		case s := <-l.signals:
			l.hurry()
			l.feed(policy.Input{Kind: policy.StopRequested, Reason: "stopped by " + SignalName(signalOf(s))})
		case <-l.ctx.Done():
			l.feed(policy.Input{Kind: policy.StopRequested, Reason: "cancelled"})
		}
	}
	return l.end, nil
}

// listen catches what ends a watch. What it was started to ignore stays ignored,
// as under nohup, and nobody who reads its messages any more is no reason to end.
func (l *lookout) listen() {
	ends := slices.DeleteFunc([]os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}, signal.Ignored)
	if len(ends) > 0 { // none would mean all
		signal.Notify(l.signals, ends...)
	}
	surviveReaders()
}

// lookLimit is how long a look at the directory may take.
func lookLimit(o solehold.Options) time.Duration {
	if o.Timeout > 0 {
		return o.Timeout
	}
	return solehold.DefaultTimeout
}

// later does what takes time on a goroutine of its own; then comes back to the
// loop.
func (l *lookout) later(work func() func()) {
	go func() {
		take := work()
		select {
		case l.results <- take:
		case <-l.ctx.Done():
		}
	}()
}

// carryOut does one command of the machine.
func (l *lookout) carryOut(c policy.Command) {
	switch c.Op {
	case policy.Probe:
		l.look(c)
	case policy.Start:
		l.memory.save(l.machine.Memory())
		l.trigger = c
		l.later(func() func() {
			result := l.w.launch(l.ctx)
			return func() { l.launched(c, result) }
		})
	case policy.TakeEvidence:
		l.evidence(c)
	case policy.StopTree:
		l.stop(c)
	case policy.MarkUnhealthy:
		l.tell(journal.Health, "alive but not well: "+c.Detail)
	case policy.MarkHealthy:
		l.tell(journal.Health, answersAgain(c))
	case policy.Recovered:
		l.trigger.Detail = c.Detail
	case policy.Restarting:
		l.memory.save(l.machine.Memory())
		if c.Delay > 0 {
			l.w.Say("waiting %s before the next start: earlier ones failed", short(c.Delay))
		}
	case policy.GiveUp, policy.End:
		l.conclude(c)
	case policy.Say:
		l.remark(c)
	}
}

// look asks the service first. Who has the directory is only of interest where
// that is not well: a healthy round costs one question.
func (l *lookout) look(c policy.Command) {
	l.asking.Add(1)
	l.later(func() func() {
		result := func() health.Result {
			defer l.asking.Done()
			return l.prober.judge(l.ctx, c.Which)
		}()
		var status solehold.Status
		bad := !result.Verdict.Good()
		if bad {
			status = l.w.Look(l.ctx)
		}
		return func() {
			if bad {
				l.see(status)
			}
			l.feed(policy.Input{Kind: policy.ProbeResult, For: c.ID, Verdict: verdict(result.Verdict), Reason: result.Detail})
		}
	})
}

// settle ends a question that is under way: its command must not be left behind.
func (l *lookout) settle(cancel func()) {
	cancel()
	within(killWait, func() bool { l.asking.Wait(); return true })
}

// see tells the machine who has the directory.
func (l *lookout) see(s solehold.Status) {
	l.status = s
	in := policy.Input{Kind: policy.LockState, Holder: s.Token, GivenUp: l.memory.loadFrom(FailuresName).GivenUp}
	if l.lifted() {
		l.feed(policy.Input{Kind: policy.Reset})
	}
	switch s.State {
	case solehold.Free:
		in.Lock = policy.LockFree
	case solehold.Held:
		in.Lock = policy.LockHeld
		l.turnedAway(s)
	case solehold.NotKnown:
		in.Reason = fmt.Sprint(s.Err)
	default:
		in.Lock, in.Reason = policy.LockDanger, strings.Join(append([]string{string(s.State)}, s.Findings...), ": ")
	}
	l.feed(in)
}

// lifted reports whether somebody has taken back a give-up since the last look:
// who starts it from a terminal does.
func (l *lookout) lifted() bool {
	was := l.givenUp
	l.givenUp = l.memory.givenUp()
	return was && !l.givenUp
}

// remember saves it, unless a give-up was taken back since.
func (l *lookout) remember(m policy.Memory) {
	if !l.lifted() {
		l.memory.save(m)
	}
}

// turnedAway tells, once, that a watch which was to start the service found that
// it has its owner: somebody else was faster, and it may still be starting.
func (l *lookout) turnedAway(s solehold.Status) {
	if !l.w.Once || l.told || s.Owner == nil {
		return
	}
	l.told = true
	l.w.Say("%s already has its owner: %s; waiting for its answer.", s.Dir, s.Owner)
	uid, name := os.Getuid(), l.w.Options.Name
	l.log(solehold.Event{
		Kind: journal.Refused, PID: os.Getpid(), UID: &uid, Name: name, Detail: "this watch starts nothing: it has its owner",
		By: procid.OriginOf(procfs.Default(), 0).By,
	})
}

// launched takes in how a launch went. One that found an owner by then is no
// failure: the wanted state holds.
func (l *lookout) launched(c policy.Command, r launched) {
	l.end.Held = r.held
	switch {
	case r.err == nil:
		text := "nobody had it, and the probe says: " + l.trigger.Detail
		if l.w.Unit != "" {
			text = "started " + l.w.Unit + ": " + text
		}
		l.log(solehold.Event{Kind: journal.Recovery, PID: r.pid, Name: l.w.name(), Detail: text})
		l.w.Say("%s: started: %s", l.w.Dir, text)
		l.feed(policy.Input{Kind: policy.ChildStarted, For: c.ID})
		return
	case !r.held:
		l.log(solehold.Event{Kind: journal.Health, Detail: "it could not be started: " + r.err.Error()})
	}
	l.feed(policy.Input{Kind: policy.Exited, For: c.ID, TreeDead: true, Taken: r.held, Reason: r.err.Error()})
}

func (w Watch) name() string {
	if w.Unit != "" {
		return w.Unit
	}
	return solehold.CommandLine(w.Command)
}
