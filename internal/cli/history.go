package cli

import (
	"fmt"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/journal"
	"github.com/spf13/cobra"
)

// historyFlags are the flags of `history`.
type historyFlags struct {
	lookFlags
	kinds []string
	last  int
	since seconds
}

func (a *app) historyCommand() *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:   "history DIR",
		Short: "Tell what happened to a data directory",
		Long: `Tell what happened to a data directory: who held it, who was turned away, how
each holder ended. The history outlives processes and reboots. Starters that are
turned away again and again are counted, not all listed.

Where there is a journal of systemd, run, watch, release and clean tell it the
same events (journalctl SOLEHOLD_DIR=PATH). Both are read, each event is shown once,
and where they disagree that is said. Where the directory has the lock of a cluster
and the engine answers within ` + clusterPatience.String() + `, what happened on other hosts is shown too;
history --cluster URL NAME is the engine's alone.`,
		Example: `  solehold history /srv/kb/data
  solehold history --kind refused --since 24h /srv/kb/data
  solehold history --json /srv/kb/data | jq -r .kind | sort | uniq -c`,
		Args: dirArg,
		RunE: func(cmd *cobra.Command, args []string) error { return a.history(cmd, f, args[0]) },
	}
	cmd.Long += codesHelp("", historyCodes())
	cmd.Flags().StringSliceVar(&f.kinds, "kind", nil, "only events of these kinds")
	cmd.Flags().IntVarP(&f.last, "last", "n", 0, "only the last N events (default: all)")
	cmd.Flags().Var(&f.since, "since", "only events of this last span of time, e.g. 24h")
	f.register(cmd.Flags())
	cmd.Flags().Lookup("since").DefValue = "" // not a time that would be worth printing
	return cmd
}

func (a *app) history(cmd *cobra.Command, f *historyFlags, dir string) error {
	for _, k := range f.kinds {
		if !slices.Contains(journal.Kinds(), journal.Kind(k)) {
			return usage(cmd, "%q is not a kind of event; the kinds are %v", k, journal.Kinds())
		}
	}
	h, err := diagnose.History(cmd.Context(), dir, f.options())
	if err != nil {
		return openError(dir, err)
	}
	all, notes := withCluster(cmd.Context(), dir, f.state, h.Events)
	events := f.choose(all, time.Now())
	if a.json {
		for _, e := range events {
			a.printJSON(a.env.Stdout, e)
		}
	} else {
		a.printEvents(events)
	}
	if h.Skipped > 0 {
		a.say("%d lines of the history could not be read (torn by a crash or a full disk, or not ours)", h.Skipped)
	}
	for _, note := range append(h.Notes, notes...) {
		a.say("%s", note)
	}
	return nil
}

func (f *historyFlags) choose(events []journal.Event, now time.Time) []journal.Event {
	events = slices.DeleteFunc(events, func(e journal.Event) bool {
		return len(f.kinds) > 0 && !slices.Contains(f.kinds, string(e.Kind)) ||
			f.since > 0 && now.Sub(e.Time) > time.Duration(f.since)
	})
	if f.last > 0 && len(events) > f.last {
		events = events[len(events)-f.last:]
	}
	return events
}

func (a *app) printEvents(events []journal.Event) {
	if len(events) == 0 {
		fmt.Fprintln(a.env.Stdout, "no events")
		return
	}
	w := tabwriter.NewWriter(a.env.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "TIME (UTC)\tTOKEN\tEVENT\tWHAT")
	for i := 0; i < len(events); i++ {
		e := events[i]
		for i+1 < len(events) && repeats(e, events[i+1]) {
			i++
			e.More += 1 + events[i].More
		}
		token := ""
		if e.Token > 0 {
			token = strconv.FormatUint(e.Token, 10)
		}
		fmt.Fprintf(w, "%s\t%5s\t%s\t%s\n", e.Time.UTC().Format("01-02 15:04:05.000"), token, solehold.Printable(string(e.Kind)), solehold.Printable(what(e)))
	}
	w.Flush()
}

// repeats joins refusals of one name within a second.
func repeats(a, b journal.Event) bool {
	return a.Kind == journal.Refused && b.Kind == journal.Refused && a.Name == b.Name && a.By == b.By &&
		b.Time.Sub(a.Time) >= 0 && b.Time.Sub(a.Time) < time.Second
}

// what says an event in words.
func what(e journal.Event) string {
	who := ""
	if e.PID > 0 {
		who = "pid " + strconv.Itoa(e.PID)
	}
	if e.Name != "" {
		who += " " + e.Name
	}
	if e.UID != nil && e.Kind == journal.ReleaseRequested {
		who += ", uid " + strconv.Itoa(*e.UID)
	}
	if e.By != "" && slices.Contains([]journal.Kind{journal.Acquired, journal.Refused, journal.ReleaseRequested}, e.Kind) {
		who += ", started by " + e.By
	}
	text := who
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Class != "" {
		text += " (" + e.Class + ")"
	}
	if e.More > 0 {
		text += fmt.Sprintf(" (%d more like it)", e.More)
	}
	return text
}
