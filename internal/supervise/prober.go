package supervise

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/solehold/solehold/health"
	"github.com/solehold/solehold/internal/policy"
)

// keptAnswers is how many answers of the probes are kept for evidence.
const keptAnswers = 30

// asker is one probe ready to be asked.
type asker struct {
	check    *Check
	probe    health.Probe
	settings health.Settings
}

// newAsker makes the probe of a check; nil for no check.
func newAsker(c *Check, runner health.Runner, beats *beats) (*asker, error) {
	if c == nil {
		return nil, nil
	}
	a := &asker{check: c, settings: health.Settings{Timeout: c.Schedule.Timeout}}
	if a.settings.Timeout == 0 {
		a.settings.Timeout = health.DefaultTimeout
	}
	if c.Beat > 0 {
		a.probe = beats.probe(c.Beat)
		return a, nil
	}
	var err error
	a.probe, err = c.Probe(runner)
	return a, err
}

// prober asks the service and keeps what it answered.
type prober struct {
	health, startup *asker
	identity        *identity
	say             func(policy.Input) // takes the verdicts

	mu   sync.Mutex // guards what follows
	log  []string
	last health.Result
	at   time.Time // of last
	good time.Time // of the last good answer
}

// newProber makes the probes of the configuration.
func (r *runner) newProber() (err error) {
	if r.c.Health == nil && r.c.Startup == nil {
		return nil
	}
	p := &prober{say: r.answer, identity: r.identity()}
	if p.health, err = newAsker(r.c.Health, r.commands(), &r.relay.beats); err != nil {
		return err
	}
	if p.startup, err = newAsker(r.c.Startup, r.commands(), &r.relay.beats); err != nil {
		return err
	}
	r.prober = p
	return nil
}

// ask asks once, on a goroutine of its own, and sends the verdict to the machine.
func (p *prober) ask(alive context.Context, c policy.Command) {
	go func() {
		result := p.judge(alive, c.Which)
		p.say(policy.Input{Kind: policy.ProbeResult, For: c.ID, Verdict: verdict(result.Verdict), Reason: result.Detail})
	}()
}

// judge asks once and keeps the answer.
func (p *prober) judge(ctx context.Context, which policy.Which) health.Result {
	a := p.health
	if which == policy.Startup {
		a = p.startup
	}
	result := a.settings.Check(ctx, a.probe)
	if !a.check.AnyAnswer {
		result = p.identity.check(result)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.at = result, time.Now()
	if result.Verdict.Good() {
		p.good = p.at
	}
	p.log = append(p.log, fmt.Sprintf("%s  %s  %s", p.at.UTC().Format("15:04:05.000Z"), a.probe, result))
	p.log = slices.Delete(p.log, 0, max(0, len(p.log)-keptAnswers))
	return result
}

// history returns the kept answers, and how long none was good; start stands
// for the last good one where there was none.
func (p *prober) history(start time.Time) (answers []string, silent time.Duration) {
	if p == nil {
		return nil, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	since := p.good
	if since.Before(start) {
		since = start
	}
	return slices.Clone(p.log), time.Since(since)
}

// silence is how long no answer was good; 0 where none ever was.
func (p *prober) silence() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.good.IsZero() {
		return 0
	}
	return time.Since(p.good)
}

// newest returns the last answer.
func (p *prober) newest() (at time.Time, result health.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at, p.last
}

func verdict(v health.Verdict) policy.Verdict {
	switch v {
	case health.OK:
		return policy.OK
	case health.Slow:
		return policy.Slow
	case health.Fail:
		return policy.Fail
	}
	return policy.Unknown
}

// beats is what the command says of itself.
type beats struct {
	mu   sync.Mutex
	last time.Time // of WATCHDOG=1 or READY=1; zero before the first of a life
	from time.Time // of the life
}

func (b *beats) beat(first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last = time.Now(); first {
		b.from, b.last = b.last, time.Time{}
	}
}

// probe gives a probe that looks for signs of life not older than most.
func (b *beats) probe(most time.Duration) health.Probe { return beatProbe{b, most} }

type beatProbe struct {
	*beats
	most time.Duration
}

func (p beatProbe) String() string { return "WATCHDOG=1 every " + short(p.most) }

// Check looks once. Its clock stands still while the machine sleeps.
func (p beatProbe) Check(context.Context) health.Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch age := time.Since(p.last); {
	case !p.last.IsZero() && age <= p.most:
		return health.Result{Verdict: health.OK, Detail: "sign of life " + short(age) + " ago"}
	case !p.last.IsZero():
		return health.Result{Verdict: health.Fail, Detail: fmt.Sprintf("no WATCHDOG=1 for %s, longer than %s", short(age), short(p.most))}
	case time.Since(p.from) <= p.most:
		return health.Result{Detail: "no WATCHDOG=1 yet"}
	}
	return health.Result{Verdict: health.Fail, Detail: "no WATCHDOG=1 since it was started"}
}
