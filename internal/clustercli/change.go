package clustercli

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/cluster"
	"github.com/spf13/cobra"
)

func (a *app) breakCommand() *cobra.Command {
	var token uint64
	reason := ""
	cmd := &cobra.Command{
		Use:   "break --cluster URL NAME --token N --reason TEXT",
		Short: "Remove the claim of an owner that is surely gone",
		Long: `Remove the claim of an owner that is surely gone. Claims with a lease run out by
themselves: this is for who cannot wait. Sticky claims never do.

The host of a sticky claim works on while it cannot reach the engine, and starts
again after a reboot. So it must be dead or fenced before its claim is broken,
and stay so until its run has said that the claim was broken: else there are two
owners. What is known of it is printed.

The token is that of solehold-cluster status: a claim that has changed since is
not touched. If the owner lives and can be reached it is told at once, and its
command is stopped; if it cannot be reached it works on until its own deadline,
and the next owner waits only for the lock-delay. The reason is kept at the
engine and shown by status until the next owner comes.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return usagef("which lock? break NAME")
			case token == 0:
				return usagef("which claim? --token N, as status shows it")
			case reason == "":
				return usagef("why? --reason TEXT is kept for those who look later")
			}
			if err := cluster.CheckName(args[0]); err != nil {
				return err
			}
			return a.ask(cmd.Context(), func(ctx context.Context, o cluster.Operator, _ cluster.Target) error {
				seen, err := o.Look(ctx, args[0])
				if err != nil {
					return err
				}
				if err := o.Break(ctx, args[0], token, by()+": "+cut(reason)); err != nil {
					return err
				}
				fmt.Fprintf(a.env.Stdout, "the claim of %s with token %d was removed\n", solehold.Printable(args[0]), token)
				if len(seen) == 1 && seen[0].Sticky {
					fmt.Fprint(a.env.Stdout, knew(seen[0]))
				}
				return nil
			})
		},
	}
	cmd.Flags().Uint64Var(&token, "token", 0, "the token of the claim")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who look later")
	return cmd
}

// by is who did it, and when.
func by() string {
	host, _ := os.Hostname()
	name := fmt.Sprint("uid ", os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return fmt.Sprintf("by %s on %s at %s", name, host, time.Now().UTC().Format(time.RFC3339))
}

// cut bounds what is written to an engine.
func cut(s string) string {
	const most = 500
	if len(s) > most {
		return s[:most]
	}
	return s
}

func (a *app) raiseCommand() *cobra.Command {
	var above uint64
	cmd := &cobra.Command{
		Use:   "raise --cluster URL NAME --above N",
		Short: "Let the tokens of a lock begin above a number",
		Long: `Let the tokens of a lock begin above a number: for an engine that was restored
from a backup, or that replaces another one. Its tokens would repeat those that
were given out, so solehold run refuses them (exit code 78) and says the number.

Take the highest number that any machine says. The lock must be free. Nothing is
ever lowered.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return usagef("which lock? raise NAME")
			case above == 0:
				return usagef("above which token? --above N, as the refused run says it")
			}
			if err := cluster.CheckName(args[0]); err != nil {
				return err
			}
			return a.ask(cmd.Context(), func(ctx context.Context, o cluster.Operator, _ cluster.Target) error {
				if err := o.Raise(ctx, args[0], above); err != nil {
					return err
				}
				fmt.Fprintf(a.env.Stdout, "the next token of %s is above %d\n", solehold.Printable(args[0]), above)
				return nil
			})
		},
	}
	cmd.Flags().Uint64Var(&above, "above", 0, "the highest token that was given out")
	return cmd
}
