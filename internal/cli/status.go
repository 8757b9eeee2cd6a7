package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/journal"
	"github.com/spf13/cobra"
)

func (a *app) statusCommand() *cobra.Command {
	var f lookFlags
	var free bool
	cmd := &cobra.Command{
		Use:   "status DIR...",
		Short: "Tell who owns a data directory, and how that is proven",
		Long: `Tell who owns a data directory, and how that is proven.

The kernel's lock decides; the record only labels. Asking takes nothing: it
never makes a starter fail. With several directories the exit code is that of
the worst.`,
		Example: `  solehold status /srv/kb/data
  solehold status --json /srv/*/data
  solehold status --free /srv/kb/data && echo "nobody runs"`,
		RunE: func(cmd *cobra.Command, dirs []string) error {
			if len(dirs) == 0 {
				return usage(cmd, "which directory? status takes one or more")
			}
			all := reports(cmd.Context(), dirs, f.options())
			a.printReports(all)
			a.code = worst(all)
			if free {
				a.code = freeCode(all)
			}
			return nil
		},
	}
	cmd.Long += codesHelp("", statusCodes())
	f.register(cmd.Flags())
	cmd.Flags().BoolVar(&free, "free", false, "exit 0 only if all are free, 1 otherwise (for ExecCondition= and scripts)")
	return cmd
}

func (a *app) printReports(all []diagnose.Report) {
	for i, r := range all {
		if a.json {
			a.printJSON(a.env.Stdout, r)
			continue
		}
		if i > 0 {
			fmt.Fprintln(a.env.Stdout)
		}
		a.printStatus(r, time.Now())
	}
}

// reports looks at all directories.
func reports(ctx context.Context, dirs []string, o *solehold.Options) []diagnose.Report {
	all := make([]diagnose.Report, len(dirs))
	each(len(dirs), func(i int) { all[i] = diagnose.Status(ctx, dirs[i], o) })
	return all
}

// each does work for n directories, for several at a time: one on a disk that
// does not answer must not hold up the others.
func each(n int, work func(i int)) {
	const together = 16
	room := make(chan struct{}, together)
	var wg sync.WaitGroup
	for i := range n {
		room <- struct{}{}
		wg.Go(func() {
			work(i)
			<-room
		})
	}
	wg.Wait()
}

func statusCode(r diagnose.Report) int {
	switch {
	case r.State == solehold.Held:
		return statusHeld
	case r.State == solehold.NotKnown:
		return statusUnknown
	case r.State != solehold.Free:
		return statusDanger
	case r.Record.Class == "none", r.Record.Class == "released":
		return statusFree
	}
	return statusStale
}

// worst is the code of all directories together.
func worst(all []diagnose.Report) int {
	code := statusHeld
	for _, r := range all {
		if c := statusCode(r); severity(c) > severity(code) {
			code = c
		}
	}
	return code
}

// severity orders the codes from what is wanted to what is worst.
func severity(code int) int {
	return slices.Index([]int{statusHeld, statusFree, statusStale, statusUnknown, statusDanger}, code)
}

// freeCode is the code of --free, 0 only if all are: 1 to 254 make systemd's
// ExecCondition= skip a unit without calling it failed.
func freeCode(all []diagnose.Report) int {
	for _, r := range all {
		if code := statusCode(r); code != statusFree && code != statusStale {
			return 1
		}
	}
	return 0
}

// printStatus writes one directory: the verdict first, then the proof, then
// what to do.
func (a *app) printStatus(r diagnose.Report, now time.Time) {
	fmt.Fprintf(a.env.Stdout, "%s %s%s\n", a.bold(fmt.Sprintf("%-9s", r.State)), solehold.Printable(r.Dir), headline(r))
	w := tabwriter.NewWriter(a.env.Stdout, 0, 8, 2, ' ', 0)
	row := func(label, format string, args ...any) {
		fmt.Fprintf(w, "  %s\t%s\n", label, solehold.Printable(fmt.Sprintf(format, args...)))
	}
	if r.Owner != nil {
		ownerRows(row, r, now)
	}
	recordRow(row, r)
	if p := r.Health; p != nil {
		row("health", "%s; last probe %s ago (%s)", p.State, solehold.Age(now.Sub(p.Time)), answerText(p))
	}
	if r.Owner != nil && r.Refused > 0 {
		starts := "starts"
		if r.Refused == 1 {
			starts = "start"
		}
		row("refused", "%d %s since, the last %s ago", r.Refused, starts, solehold.Age(now.Sub(r.LastRefused)))
	}
	if p := r.Before; p != nil {
		row("before", "token %d: %s", p.Token, pastText(p))
	}
	for _, f := range r.Findings {
		row("seen", "%s", f)
	}
	switch fsys := r.Filesystem; {
	case fsys.Warning != "":
		row("disk", "%s: %s", fsys.Type, fsys.Warning)
	case r.State == solehold.NotKnown && fsys.Type != "":
		row("disk", "%s, %s on %s", fsys.Type, fsys.Source, fsys.Point)
	}
	if r.Error != "" {
		row("why", "%s", r.Error)
	}
	if next := statusStep(r); next != "" {
		row("next", "%s", next)
	}
	w.Flush()
}

func headline(r diagnose.Report) string {
	switch r.State {
	case solehold.Free:
		if r.Record.Class == "stale" && r.Record.PID > 0 {
			return fmt.Sprintf("  the last owner, pid %d, left no release", r.Record.PID)
		}
	case solehold.Detached:
		return "  a live owner holds a lock file that is no longer at its path"
	case solehold.Unguarded:
		return "  nobody holds the lock, but a live process works there"
	case solehold.Split:
		return "  more than one writer"
	}
	return ""
}

func ownerRows(row func(string, string, ...any), r diagnose.Report, now time.Time) {
	o := r.Owner
	if !o.Visible() {
		row("owner", "no process visible here: %s", strings.Join(o.Notes, "; "))
		return
	}
	row("owner", "pid %d  %s  %s  %s", o.PID, solehold.CommandLine(o.Command), uidText(o), proofText(o))
	if !o.Since.IsZero() {
		row("since", "%s  (%s)  token %d", o.Since.UTC().Format("2006-01-02 15:04:05Z"), solehold.Age(now.Sub(o.Since)), r.Token)
	}
	if started := startedText(o); started != "" {
		row("started", "%s", started)
	}
	for _, n := range o.Notes {
		row("note", "%s", n)
	}
}

func uidText(o *solehold.Owner) string {
	switch {
	case o.UID == nil:
		return "uid not visible"
	case o.User == "":
		return fmt.Sprintf("uid %d", *o.UID)
	}
	return fmt.Sprintf("uid %d (%s)", *o.UID, o.User)
}

func proofText(o *solehold.Owner) string {
	proof := strings.Join(o.Proof, ", ")
	switch {
	case o.Proven:
		return "proven: " + proof
	case proof != "":
		return "proven as far as visible: " + proof
	}
	return "not proven"
}

func startedText(o *solehold.Owner) string {
	text := "by " + o.StartedBy
	if o.StartedBy == "" {
		text = ""
	}
	if o.Wrapper == 0 {
		return text
	}
	wrapper := fmt.Sprintf("child of solehold run, pid %d", o.Wrapper)
	if o.WrapperGone {
		wrapper = fmt.Sprintf("its wrapper, solehold run pid %d, is gone", o.Wrapper)
	}
	if text == "" {
		return wrapper
	}
	return text + "; " + wrapper
}

func recordRow(row func(string, string, ...any), r diagnose.Report) {
	rec := r.Record
	switch {
	case !r.ReadySince.IsZero():
		row("service", "ready since %s", r.ReadySince.UTC().Format("2006-01-02 15:04:05Z"))
	case rec.Class == "released":
		row("record", "released; token %d", rec.Token)
	case rec.Class != "none" && rec.Class != "live":
		text := rec.Class
		if rec.Why != "" {
			text += ":" + rec.Why
		}
		if rec.Detail != "" {
			text += ": " + rec.Detail
		}
		if rec.Token > 0 {
			text += fmt.Sprintf("; token %d", rec.Token)
		}
		row("record", "%s", text)
	}
}

// answerText is an answer of the service with the time that it took.
func answerText(p *journal.Pulse) string {
	text := p.Verdict + ": " + p.Detail
	if p.Verdict == "ok" || p.Verdict == "slow" {
		text = fmt.Sprintf("%s in %.0fms", p.Detail, p.Took*1000)
	}
	return text
}

func pastText(p *diagnose.Past) string {
	at := p.Time.UTC().Format("2006-01-02 15:04:05Z")
	switch p.Kind {
	case journal.Vanished:
		return fmt.Sprintf("vanished, seen %s (%s): %s", at, p.Class, p.Detail)
	case journal.Lost:
		return fmt.Sprintf("lost %s: %s", at, p.Detail)
	}
	return fmt.Sprintf("released %s (%s)", at, p.Detail)
}

func statusStep(r diagnose.Report) string {
	switch r.State {
	case solehold.Free:
		if r.Record.Class == "released" || r.Record.Class == "none" {
			return ""
		}
		return "safe to start: the lock is free, whatever the record says"
	case solehold.Detached:
		return "nothing is lost; find what cleans this place, and let the owner go on"
	case solehold.Unguarded, solehold.Split:
		return "stop the process that works without the lock; start nothing before that"
	case solehold.NotKnown:
		if next := nextStep(r.Err); next != "" {
			return next
		}
		return "ask again as the directory's owner or as root (" + youAre() + ")"
	}
	if r.Owner != nil && r.Owner.WrapperGone {
		return "stop it, or start with solehold run --orphans=stop"
	}
	return ""
}
