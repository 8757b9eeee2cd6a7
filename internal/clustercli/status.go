package clustercli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/spf13/cobra"
)

func (a *app) statusCommand() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "status --cluster URL [NAME | --all]",
		Short: "Tell who has a lock of the cluster; takes nothing",
		Long: `Tell who has a lock of the cluster, or all of them. Nothing is taken or written.

Exit codes:
  0   HELD, or with --all this is the list
  3   FREE
  4   UNKNOWN: something that solehold did not write is in its place
  64  the command line is wrong
  74  the engine did not answer`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 == all {
				return usagef("which lock? Give one NAME, or --all")
			}
			name := ""
			if len(args) == 1 {
				name = args[0]
				if err := cluster.CheckName(name); err != nil {
					return err
				}
			}
			return a.ask(cmd.Context(), func(ctx context.Context, o cluster.Operator, t cluster.Target) error {
				return a.status(ctx, o, t, name)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all locks below the prefix")
	return cmd
}

func (a *app) status(ctx context.Context, o cluster.Operator, t cluster.Target, name string) error {
	seen, err := o.Look(ctx, name)
	if err != nil {
		return err
	}
	if name != "" && len(seen) == 0 {
		seen = []cluster.Seen{{Name: name}}
	}
	for _, s := range seen {
		if a.json {
			printJSON(a.env.Stdout, answer(s))
			continue
		}
		fmt.Fprint(a.env.Stdout, text(s))
	}
	switch {
	case name == "" && len(seen) == 0 && !a.json:
		fmt.Fprintf(a.env.Stdout, "no locks at %s\n", solehold.Printable(t.String()))
	case name == "":
	case seen[0].Foreign:
		a.code = exitUnknown
	case !seen[0].Held:
		a.code = exitFree
	}
	return nil
}

// state is the first word about a lock.
func state(s cluster.Seen) string {
	switch {
	case s.Foreign:
		return "UNKNOWN"
	case s.Held:
		return "HELD"
	}
	return "FREE"
}

// verdict says in a line what is known.
func verdict(s cluster.Seen) string {
	switch {
	case s.Foreign:
		return "something that solehold did not write is in its place: look who uses it"
	case s.Sticky:
		return fmt.Sprintf("token %d; %s", s.Token, stickyText(s))
	case s.Held && s.Left > 0:
		return fmt.Sprintf("token %d; runs out in %v unless it is renewed", s.Token, s.Left.Round(time.Second))
	case s.Held:
		return fmt.Sprintf("token %d", s.Token)
	case s.Broken != "":
		return "its last claim was broken " + s.Broken
	case s.Ended:
		return "its last owner released it"
	case s.Info != "":
		return "its last owner left without a release: the next one waits out the lock-delay"
	}
	return "nobody has had it yet"
}

func text(s cluster.Seen) string {
	out := fmt.Sprintf("%-8s  %s  %s\n", state(s), solehold.Printable(s.Name), solehold.Printable(verdict(s)))
	if s.Info != "" {
		word := "last"
		if s.Held {
			word = "owner"
		}
		out += fmt.Sprintf("  %-7s %s\n", word, solehold.Printable(s.Info))
	}
	if s.Foreign {
		out += fmt.Sprintf("  %-7s %s\n", "key", solehold.Printable(s.Key))
	}
	return out
}

// seenJSON is a lock in JSON.
type seenJSON struct {
	State string `json:"state"`
	cluster.Seen
	LeftSeconds float64 `json:"left,omitempty"`
}

func answer(s cluster.Seen) seenJSON { return seenJSON{state(s), s, s.Left.Seconds()} }

// printJSON writes one value a line.
func printJSON(w io.Writer, v any) {
	if text, err := diagnose.JSON(v); err == nil { // structs of texts and numbers
		w.Write(text)
	}
}
