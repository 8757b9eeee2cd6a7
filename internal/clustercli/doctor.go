package clustercli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/spf13/cobra"
)

// Exit codes of doctor, as those of solehold doctor.
const (
	doctorFindings = 1
	doctorGaps     = 2
)

// report is the answer of doctor.
type report struct {
	Engine   string           `json:"engine"`
	Findings []doctor.Finding `json:"findings"`
	Gaps     []doctor.Gap     `json:"gaps"`
	Health   cluster.Health   `json:"health"`
	Held     int              `json:"held"`
	Free     int              `json:"free"`
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor --cluster URL",
		Short: "Tell what is wrong with an engine: servers, leader, versions, space, speed, clocks, claims",
		Long: `Tell what is wrong with an engine: which servers answer, their leader and its
changes, versions with known faults, alarms and space, speed beside the ttl of
the URL, clocks, leases and claims. etcd says all of it, the others a part.
Nothing is taken or written. solehold doctor explain ID tells more about each
finding.

Exit codes:
  0   nothing was found
  1   findings, the worst first
  2   nothing was found where not all could be seen
  64  the command line is wrong`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("doctor --cluster looks at the whole engine, and takes no NAME")
			}
			return a.doctor(cmd.Context())
		},
	}
}

func (a *app) doctor(ctx context.Context) error {
	o, t, done, err := a.operator()
	if err != nil {
		return err
	}
	defer done()
	r, err := examine(ctx, o, t, a.timeout)
	if err != nil {
		return err
	}
	switch {
	case len(r.Findings) > 0:
		a.code = doctorFindings
	case len(r.Gaps) > 0:
		a.code = doctorGaps
	}
	if a.json {
		printJSON(a.env.Stdout, r)
		return nil
	}
	fmt.Fprint(a.env.Stdout, r.text())
	return nil
}

// examine looks at the engine, then at its claims, each within the time.
func examine(ctx context.Context, o cluster.Operator, t cluster.Target, limit time.Duration) (report, error) {
	options, err := t.Options()
	if err != nil {
		return report{}, err
	}
	r := report{Engine: t.String(), Findings: []doctor.Finding{}, Gaps: []doctor.Gap{}}
	e := examined{target: t, ttl: options.TTL}
	if e.ttl == 0 {
		e.ttl = cluster.DefaultTTL
	}
	x, ok := o.(cluster.Examiner)
	if !ok {
		r.Gaps = append(r.Gaps, doctor.Gap{What: "the health of the engine", Why: "this engine does not tell it", NotRun: true})
	} else {
		short, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		e.health = x.Examine(short)
	}
	for i := range e.health.Servers {
		e.health.Servers[i].Err = oneLine(e.health.Servers[i].Err)
	}
	for _, text := range e.health.Unread {
		what, why, _ := strings.Cut(oneLine(text), ": ")
		r.Gaps = append(r.Gaps, doctor.Gap{What: what, Why: why})
	}
	if !ok || e.away().ID == "" {
		short, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if e.locks, err = o.Look(short, ""); err != nil {
			r.Gaps = append(r.Gaps, doctor.Gap{What: "the claims", Why: oneLine(err.Error())})
		}
	}
	for _, s := range e.locks {
		if s.Held {
			r.Held++
		} else {
			r.Free++
		}
	}
	if r.Health = e.health; ok {
		r.Findings = append(r.Findings, e.findings()...)
	}
	return r, nil
}

// text is the answer for people: how much there is, what the engine is, then each finding with its proof and the next step.
func (r report) text() string {
	const margin = "       "
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(solehold.Printable(fmt.Sprintf(format, args...)) + "\n")
	}
	line("%s at %s", doctor.Headline(len(r.Findings), len(r.Gaps)), r.Engine)
	for _, s := range r.Health.Servers {
		line("%s%s", margin, serverText(s))
	}
	line("%s%d locks held, %d free%s", margin, r.Held, r.Free, r.more())
	for _, f := range r.Findings {
		line("%s  %-7s  %s", f.ID, f.Severity, f.Title)
		for _, e := range f.Evidence {
			line("%s%s", margin, e)
		}
		line("%snext: %s", margin, f.Advice)
	}
	for _, g := range r.Gaps {
		line("%snot read: %s: %s", margin, g.What, g.Why)
	}
	return b.String()
}

func (r report) more() string {
	text := ""
	if r.Health.Leases > 0 {
		text += fmt.Sprintf("; %d leases in the whole engine", r.Health.Leases)
	}
	if r.Health.Latency > 0 {
		text += fmt.Sprintf("; a read takes %v", r.Health.Latency.Round(10*time.Microsecond))
	}
	return text
}

// serverText is one server in a line.
func serverText(s cluster.Server) string {
	if !works(s) {
		return s.Address + "  " + trouble(s)
	}
	text := strings.TrimSpace(s.Address + "  " + s.Version + " " + s.Role)
	if s.Changes > 0 && s.Up > 0 {
		text += fmt.Sprintf("; %d changes of the leader in %v", s.Changes, s.Up.Round(time.Second))
	}
	switch {
	case s.Limit > 0:
		text += fmt.Sprintf("; %s of %s used", size(s.Used), size(s.Limit))
	case s.Used > 0:
		text += fmt.Sprintf("; %s used", size(s.Used))
	}
	return text
}
