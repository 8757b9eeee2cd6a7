package supervise

import (
	"strings"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/policy"
)

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
		l.tell(journal.Restart, journal.GivingUp+": it does not stay up; nothing is started until somebody does so from a terminal or with --retry")
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
