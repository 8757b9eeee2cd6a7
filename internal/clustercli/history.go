package clustercli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/cluster"
	"github.com/spf13/cobra"
)

func (a *app) historyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "history --cluster URL NAME",
		Short: "Tell who had a lock of the cluster, on all hosts, and how each tenure ended",
		Long: `Tell who had a lock of the cluster, on all hosts, and how each tenure ended, in
the order of the tokens. The engine keeps the last ` + fmt.Sprint(cluster.LivesKept) + ` of each lock. A holder that could
write nothing any more is "expired": the next owner has found and written that,
so UNTIL is then when it was found. Times are by the clocks of the hosts; where
they contradict the tokens that is said, and the tokens are right.

Nothing is taken or written. What happened on one host is told by
solehold history DIR there.

Exit codes:
  0   this is the list
  64  the command line is wrong
  74  the engine did not answer`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("which lock? history NAME")
			}
			if err := cluster.CheckName(args[0]); err != nil {
				return err
			}
			return a.ask(cmd.Context(), func(ctx context.Context, o cluster.Operator, t cluster.Target) error {
				return a.history(ctx, o, t, args[0])
			})
		},
	}
}

func (a *app) history(ctx context.Context, o cluster.Operator, t cluster.Target, name string) error {
	c, ok := o.(cluster.Chronicler)
	if !ok {
		return usagef("%s keeps no history", t.Engine)
	}
	all, err := c.Lives(ctx, name)
	if err != nil {
		return err
	}
	seen, err := o.Look(ctx, name)
	if err != nil {
		return err
	}
	if len(seen) == 1 {
		all = withPresent(all, seen[0])
	}
	if a.json {
		for _, l := range all {
			printJSON(a.env.Stdout, l)
		}
	} else {
		a.printLives(name, all)
	}
	notes := disagreements(all)
	if len(seen) == 1 && !seen[0].Held && !seen[0].Ended && seen[0].Broken == "" && seen[0].Info != "" {
		notes = append(notes, "the last owner, "+solehold.Printable(seen[0].Info)+", has left without a release: the next one will write that")
	}
	for _, note := range notes {
		fmt.Fprintf(a.env.Stderr, "solehold-cluster: %s\n", note)
	}
	return nil
}

// withPresent adds the tenure that goes on, or a last one whose end nobody has written yet.
func withPresent(all []cluster.Life, s cluster.Seen) []cluster.Life {
	known := slices.ContainsFunc(all, func(l cluster.Life) bool { return l.Token == s.Token && l.End != cluster.Raised })
	if s.Held && !s.Foreign && !known {
		all = append(all, cluster.Life{Token: s.Token, Since: s.Since, Info: s.Info})
	}
	slices.SortStableFunc(all, func(a, b cluster.Life) int { return cmp.Compare(a.Token, b.Token) })
	return all
}

func (a *app) printLives(name string, all []cluster.Life) {
	if len(all) == 0 {
		fmt.Fprintf(a.env.Stdout, "nobody has had %s, as far as the engine knows\n", solehold.Printable(name))
		return
	}
	w := tabwriter.NewWriter(a.env.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "TOKEN\tSINCE (UTC)\tUNTIL\tEND\tHOLDER")
	for _, l := range all {
		fmt.Fprintf(w, "%5d\t%s\t%s\t%s\t%s\n", l.Token, moment(l.Since), moment(l.Until), ending(l), solehold.Printable(l.Info))
	}
	w.Flush()
}

// moment is a time for people; what is no time stays as it is.
func moment(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return solehold.Printable(cmp.Or(text, "-"))
	}
	return t.UTC().Format("01-02 15:04:05.000")
}

// ending says in a word or two how a life has ended.
func ending(l cluster.Life) string {
	switch {
	case l.End == "":
		return "holds"
	case l.End == cluster.Expired && l.Next != 0:
		return fmt.Sprintf("expired, found by %d", l.Next)
	case l.Why != "":
		return solehold.Printable(l.End + " " + l.Why)
	}
	return solehold.Printable(l.End)
}

// disagreements says where the clocks of hosts contradict the order of the tokens. An expired life ends when it was found,
// which is after the next one began.
func disagreements(all []cluster.Life) (notes []string) {
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		until, err := time.Parse(time.RFC3339, a.Until)
		since, errSince := time.Parse(time.RFC3339, b.Since)
		if err != nil || errSince != nil || a.End == cluster.Expired || !since.Before(until) {
			continue
		}
		notes = append(notes, fmt.Sprintf("token %d began %v before token %d had ended: the clocks of their hosts differ, or the first one worked on after it was broken",
			b.Token, until.Sub(since).Round(time.Millisecond), a.Token))
	}
	return notes
}
