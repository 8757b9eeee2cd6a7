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
	"github.com/solehold/solehold/internal/evidence"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/policy"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
)

// retryStop is the time between two attempts to stop a holder that did not end.
const retryStop = 10 * time.Second

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
		w: w, ctx: ctx, patience: patience, hurry: hurry, role: role, memory: openMemory(w.Dir, w.Options.StateDir, w.Say),
		results: make(chan func(), 1), signals: make(chan os.Signal, 8),
	}
	if l.memory != nil {
		l.memory.name = WatchName
	}
	defer l.memory.close()
	l.listen()
	defer signal.Stop(l.signals)
	defer l.settle(cancel)
	return l.run()
}

// startable finds out now what would else be found out when the service is down.
func (w Watch) startable() error {
	if w.Unit == "" {
		if _, err := lookPath(w.Command[0]); err != nil {
			return err
		}
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
	l.prober = &prober{identity: &identity{proc: procfs.Default(), belongs: l.belongs, members: l.members}}
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
			l.feed(policy.Input{Kind: policy.StopRequested, Reason: "stopped by " + SignalName(s.(syscall.Signal))})
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
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGXFSZ)
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
		l.tell(journal.Health, "answers again: "+c.Detail)
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
	a := l.prober.health
	if c.Which == policy.Startup {
		a = l.prober.startup
	}
	l.asking.Add(1)
	l.later(func() func() {
		result := func() health.Result {
			defer l.asking.Done()
			return l.prober.judge(l.ctx, a)
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

// within returns what a function gives that may never come back, and whether it
// did.
func within[T any](limit time.Duration, work func() T) (result T, ok bool) {
	done := make(chan T, 1)
	go func() { done <- work() }()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case result = <-done:
		return result, true
	case <-t.C:
		return result, false
	}
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

// force is what evidence and stop have in common.
func (l *lookout) force(c policy.Command) Force {
	answers, _ := l.prober.history(time.Time{})
	return Force{
		Dir: l.w.Dir, Options: l.w.Options, Grace: l.w.Grace, Because: "watch: " + c.Detail,
		Answers: answers, Saved: true, Token: l.status.Token, Log: l.role.Log, Say: l.w.Say,
	}
}

func (l *lookout) evidence(c policy.Command) {
	f := l.force(c)
	f.Waited = l.prober.silence()
	l.later(func() func() {
		said, ok := within(evidenceLimit, func() string { return l.save(f) })
		if !ok {
			said = fmt.Sprintf("no evidence: its place did not answer within %s", evidenceLimit)
		}
		return func() {
			l.w.Say("%s: %s", l.w.Dir, said)
			l.feed(policy.Input{Kind: policy.EvidenceDone, For: c.ID, Reason: c.Detail})
		}
	})
}

// save takes the evidence and tells of it.
func (l *lookout) save(f Force) string {
	if root, err := l.role.StateRoot(); err == nil {
		defer root.Close()
		f.State = root
		if id := l.saved(root, f.Token); id != "" {
			return "evidence was saved already: " + id
		}
	}
	done, err := SaveEvidence(l.ctx, f)
	if err != nil {
		return "no evidence: " + err.Error()
	}
	return "evidence: " + done.Incident + ": " + done.Finding
}

// saved names the evidence of the same holder that an earlier watch has saved not
// long ago. From cron each minute would have its own, and what the first has is
// what is asked for. Before a stop it is always taken anew.
func (l *lookout) saved(root *os.Root, token uint64) (id string) {
	const long = time.Hour // as long as a watch that goes on waits
	if !l.w.Once || l.w.Policy.OnUnhealthy != policy.UnhealthyReport || token == 0 {
		return ""
	}
	all, _ := evidence.List(root)
	for _, in := range all {
		if age := time.Since(in.Time); in.Token == token && age >= 0 && age < long {
			id = in.ID
		}
	}
	return id
}

// stop stops the holder that was judged, however long that takes. One that has
// come since is left alone: the next round judges it.
func (l *lookout) stop(c policy.Command) {
	f := l.force(c)
	l.later(func() func() {
		for said := false; ; said = true {
			err := l.stopOnce(f)
			if errors.Is(err, errOtherHolder) {
				l.w.Say("%v", err)
			}
			if err == nil || errors.Is(err, errOtherHolder) || l.patience.Err() != nil {
				break
			}
			if !said {
				l.w.Say("%v; trying again every %s", err, retryStop)
			}
			pause(l.patience, retryStop)
		}
		return func() { l.feed(policy.Input{Kind: policy.Exited, For: c.ID, TreeDead: true, Reason: c.Detail}) }
	})
}

func (l *lookout) stopOnce(f Force) error {
	if l.w.Unit == "" {
		_, err := ForceRelease(l.ctx, f)
		return err
	}
	if err := l.inUnit(f); err != nil {
		return err
	}
	if err := systemctl(l.ctx, unitLimit+l.w.Grace, "stop", l.w.Unit); err != nil {
		return err
	}
	// A holder that cannot be seen from here need not have been the unit's.
	s, err := solehold.Inspect(l.ctx, f.Dir, &f.Options)
	if err == nil && s.State == solehold.Held && s.Token == f.Token {
		err = &StillHeldError{Dir: f.Dir, Why: "stopping " + l.w.Unit + " did not end who holds it"}
	}
	return err
}

// inUnit refuses to stop a unit for what another one holds.
func (l *lookout) inUnit(f Force) error {
	if err := sameHolder(l.ctx, f); err != nil {
		return err
	}
	pids, err := solehold.Sharers(l.ctx, f.Dir, &f.Options)
	if err != nil || len(pids) == 0 {
		return err
	}
	for _, pid := range pids {
		if o := procid.OriginOf(procfs.Default(), pid); o.Unit == l.w.Unit || o.Unit == l.w.Unit+".service" {
			return nil
		}
	}
	return &StillHeldError{Dir: f.Dir, Why: fmt.Sprintf("pid %d, which holds it, does not belong to %s", pids[0], l.w.Unit)}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// tell says it to people and writes it down.
func (l *lookout) tell(kind journal.Kind, text string) {
	l.w.Say("%s: %s", l.w.Dir, text)
	e := solehold.Event{Kind: kind, Token: l.status.Token, Detail: text}
	if o := l.status.Owner; o != nil {
		e.PID, e.Name = o.PID, solehold.CommandLine(o.Command)
	}
	l.log(e)
}

func (l *lookout) log(e solehold.Event) {
	if err := l.role.Log(e); err != nil {
		l.w.Say("%v", err)
	}
}

// remark tells of what nothing follows from.
func (l *lookout) remark(c policy.Command) {
	text := c.Detail
	switch c.Cause {
	case policy.BecauseSlow:
		text = "answers slowly: " + text
	case policy.BecauseUnknown:
		text = l.doubt(c) + "; nothing is started or stopped"
	case policy.BecauseGivenUp:
		text = "it is down, and earlier starts failed too often: nothing is started until somebody does so from a terminal or with --retry"
	case policy.BecauseLaunch:
		if l.end.Held {
			l.w.Say("%s. Nothing to do.", text)
			return
		}
		text = "it could not be started: " + text
	}
	l.w.Say("%s: %s", l.w.Dir, text)
}

func (l *lookout) conclude(c policy.Command) {
	l.over = true
	l.end.Cause, l.end.GaveUp = c.Cause, c.Op == policy.GiveUp || c.Cause == policy.BecauseGivenUp
	remembered := l.machine.Memory()
	// This is the end: it does not wait for a disk that does not answer.
	if _, ok := within(lookLimit(l.w.Options), func() bool { l.remember(remembered); return true }); !ok {
		l.w.Say("%s: what happened is not remembered: the file system does not answer", l.w.Dir)
	}
	switch {
	case c.Op == policy.GiveUp:
		l.tell(journal.Restart, "giving up: it does not stay up; nothing is started until somebody does so from a terminal or with --retry")
	case c.Cause == policy.BecauseBackoff:
		l.w.Say("%s: it is down, and earlier starts failed: the next one has to wait", l.w.Dir)
	case c.Cause == policy.BecauseUnknown:
		l.w.Say("%s: %s; nothing was done", l.w.Dir, l.doubt(c))
	}
}

func (l *lookout) doubt(c policy.Command) string {
	if l.status.State != "" && l.status.State != solehold.Free && l.status.State != solehold.Held {
		return string(l.status.State) + ": " + strings.Join(l.status.Findings, "; ")
	}
	return "cannot tell whether it is well: " + c.Detail
}

// roots lists the owner and who shares its lock; not known where that cannot be
// told now.
func (l *lookout) roots() (pids []int, known bool) {
	s, err := solehold.Inspect(l.ctx, l.w.Dir, &l.w.Options)
	switch {
	case err != nil, s.State == solehold.NotKnown:
		return nil, false
	case s.Owner == nil && s.State == solehold.Free:
		return nil, true
	case s.Owner == nil, !s.Owner.Visible():
		return nil, false // it may be in a container, and answer all the same
	}
	pids = append([]int{s.Owner.PID}, s.Owner.Sharing...)
	if s.Owner.Wrapper != 0 && !s.Owner.WrapperGone {
		pids = append(pids, s.Owner.Wrapper)
	}
	return pids, true
}

// members lists the processes of the holder, with what runs below them. This
// process, which serves nobody, stands for a holder that nobody has seen.
func (l *lookout) members() []int {
	roots, known := l.roots()
	if !known {
		return nil
	}
	all := append([]int{os.Getpid()}, roots...)
	for _, pid := range roots {
		t := tree{proc: procfs.Default(), self: pid}
		all = append(all, t.pids()...)
	}
	return all
}

// belongs reports whether a process is the holder's.
func (l *lookout) belongs(pid int) bool {
	roots, _ := l.roots()
	return slices.Contains(roots, pid) || slices.ContainsFunc(procfs.Default().Ancestors(pid), func(p procfs.Stat) bool {
		return slices.Contains(roots, p.PID)
	})
}
