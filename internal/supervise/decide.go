package supervise

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/policy"
)

// do carries out one command of the machine.
func (r *runner) do(c policy.Command) {
	switch c.Op {
	case policy.Probe:
		r.prober.ask(r.alive, c)
	case policy.Start:
		r.memory.save(r.machine.Memory())
		r.start(c.ID)
	case policy.TakeEvidence:
		r.takeEvidence(c)
	case policy.StopTree:
		r.stopTree(c)
	case policy.MarkReady:
		if r.prober != nil {
			r.markReady(c.Detail)
		}
	case policy.MarkUnhealthy, policy.MarkHealthy:
		r.mark(c)
	case policy.Restarting:
		r.restarting(c)
	case policy.GiveUp, policy.End:
		r.conclude(c)
	case policy.Say:
		r.note(c)
	}
}

// markReady tells everybody that the service serves, once in its life.
func (r *runner) markReady(how string) {
	if r.nowReady(how) {
		r.relay.say("READY=1\nSTATUS=ready: " + solehold.Printable(how))
	}
}

// nowReady writes down that the service serves; false where that is known.
func (r *runner) nowReady(how string) bool {
	if r.ready || r.child == nil {
		return false
	}
	r.ready = true
	if err := r.lock.ReadyBy(how); err != nil {
		r.c.Say("%v", err)
	}
	return true
}

// mark tells that the service fails, or answers again.
func (r *runner) mark(c policy.Command) {
	text := answersAgain(c)
	if c.Op == policy.MarkUnhealthy {
		text = "unhealthy: " + c.Detail
	}
	r.c.Say("pid %d: %s", r.child.pid, text)
	r.log(solehold.Event{Kind: journal.Health, PID: r.child.pid, Name: solehold.CommandLine(r.c.Command), Detail: text})
	r.relay.say("STATUS=" + solehold.Printable(text))
}

// answersAgain is said of a service that is well by itself; most answers have
// nothing to say.
func answersAgain(c policy.Command) string {
	return strings.TrimSuffix("answers again: "+c.Detail, ": ")
}

// note tells of what nothing follows from.
func (r *runner) note(c policy.Command) {
	text := c.Detail
	switch c.Cause {
	case policy.BecauseSlow:
		text = "answers slowly: " + text
	case policy.BecauseUnknown:
		text = "cannot tell whether it is well: " + text
	}
	r.c.Say("%s", text)
	if r.child != nil {
		r.log(solehold.Event{Kind: journal.Health, PID: r.child.pid, Name: solehold.CommandLine(r.c.Command), Detail: text})
	}
}

func (r *runner) stopTree(c policy.Command) {
	switch c.Cause {
	case policy.BecauseAsked:
		r.stop(r.stopWith)
	case policy.BecauseUnhealthy:
		r.c.Say("pid %d: stopping it: %s", r.child.pid, c.Detail)
		r.log(solehold.Event{Kind: journal.Forced, PID: r.child.pid, Detail: "stopped because it was unhealthy: " + c.Detail})
		if r.c.UnhealthySignal != 0 {
			r.unwell = r.incident
		}
		r.stop(cmp.Or(r.c.UnhealthySignal, r.c.StopSignal))
	}
	// What a command left behind is stopped by settle.
}

// restarting tells of the start that follows.
func (r *runner) restarting(c policy.Command) {
	memory := r.machine.Memory()
	r.memory.save(memory)
	when := "now"
	if c.Delay > 0 {
		when = "in " + short(c.Delay)
		if err := r.lock.SetChild(nil); err != nil {
			r.c.Say("%v", err)
		}
	}
	text := fmt.Sprintf("starting again %s: %s", when, r.because(c))
	if r.c.Policy.RestartMax > 0 {
		text += fmt.Sprintf(" (failure %.0f of %d)", math.Ceil(memory.Failures), r.c.Policy.RestartMax)
	}
	r.c.Say("%s", text)
	r.log(solehold.Event{Kind: journal.Restart, Detail: text})
	r.relay.say("STATUS=" + solehold.Printable(text))
}

// because says what led to a restart or to none.
func (r *runner) because(c policy.Command) string {
	switch c.Cause {
	case policy.BecauseUnhealthy:
		text := "it was unhealthy"
		if r.incident != "" {
			text += ", see incident " + r.incident
		}
		return text
	case policy.BecauseBackoff:
		return "earlier runs failed"
	}
	if r.lives == 0 {
		return c.Detail
	}
	return "the command ended (" + r.last.String() + ")"
}

// conclude ends the loop.
func (r *runner) conclude(c policy.Command) {
	r.over = true
	r.memory.save(r.machine.Memory())
	switch {
	case c.Op != policy.GiveUp:
	case c.Cause == policy.BecauseGivenUp:
		r.failed = &GivenUpError{Dir: r.lock.Dir()}
	default:
		r.last.GaveUp = true
		text := fmt.Sprintf("%s after %.0f failures in a row: %s", journal.GivingUp, math.Ceil(r.machine.Memory().Failures), r.because(c))
		r.c.Say("%s: %s", r.lock.Dir(), text)
		r.log(solehold.Event{Kind: journal.Restart, Detail: text})
	}
}

// short is a duration without digits that nobody reads.
func short(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// exitOf is what the machine knows of an end.
func exitOf(e End) policy.Exit { return policy.Exit{Code: e.Code, Signal: int(e.Signal)} }
