package lab

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

const (
	exitOtherwise = 1
	exitPartly    = 2

	exitInterrupted = 130
)

// roleWord is the hidden argument by which this program plays a part in an experiment.
const roleWord = "role"

// command is one call of the command line.
type command struct {
	code *int
	json bool
}

// Command makes the command `lab`. It writes its exit code to code; an error that it returns is about the command line.
// Experiments start the same program with the hidden words "lab role": whoever adds the command needs to do nothing more.
func Command(code *int) *cobra.Command {
	c := &command{code: code}
	cmd := &cobra.Command{
		Use:   "lab [NAME...]",
		Short: "Show mistaken claims about locks, and classic failures, live on this machine",
		Long: `Show mistaken claims about locks, and classic failures, live on this machine.

Each experiment prints what is believed, what happens with the numbers of this run, and what to do. It runs real
processes on real files in a temporary directory, mounts only in namespaces of its own, and leaves nothing behind.
Without a name all of them run, in less than a minute. What needs root or a program that is missing is named.

Exit codes:
  0    everything came out as described
  1    something came out otherwise: this machine differs, or the text is wrong
  2    something could not be run here, or broke off
  64   the command line is wrong
  130  interrupted; what had begun was undone`,
		Example: `  solehold lab list
  solehold lab unlink garbage
  solehold lab --json | jq 'select(.outcome != "as described")'`,
		SilenceErrors: true, SilenceUsage: true,
		RunE: c.run,
	}
	cmd.PersistentFlags().BoolVar(&c.json, "json", false, "print one JSON object a line for each experiment")
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "Name the experiments", Args: cobra.NoArgs, RunE: c.list},
		&cobra.Command{Use: "pages DIR", Short: "Write docs/lab", Hidden: true, Args: cobra.ExactArgs(1), RunE: c.pages},
		&cobra.Command{Use: roleWord, Hidden: true, DisableFlagParsing: true, RunE: c.role},
	)
	return cmd
}

func (c *command) run(cmd *cobra.Command, names []string) error {
	all := All()
	if len(all) == 0 {
		return errors.New("the experiments are about Linux, and this is another system")
	}
	wanted, err := find(all, names)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	count := tally{}
	for i, e := range wanted {
		end := progress(cmd.ErrOrStderr(), isTerminal(cmd), fmt.Sprintf("%d of %d  %s", i+1, len(wanted), e.Name))
		r := e.Run(ctx)
		end()
		if ctx.Err() != nil {
			*c.code = exitInterrupted
			fmt.Fprintln(cmd.ErrOrStderr(), "interrupted; nothing is left behind")
			return nil
		}
		count[r.Outcome]++
		if err := c.show(cmd, &r); err != nil {
			*c.code = exitPartly
			return nil // nobody reads any more
		}
	}
	if !c.json {
		fmt.Fprintln(cmd.OutOrStdout(), count)
	}
	*c.code = count.code()
	return nil
}

func (c *command) show(cmd *cobra.Command, r *Result) error {
	if c.json {
		return printJSON(cmd.OutOrStdout(), r)
	}
	r.print(cmd.OutOrStdout())
	return nil
}

func (c *command) list(cmd *cobra.Command, _ []string) error {
	for _, e := range All() {
		if !c.json {
			fmt.Fprintf(cmd.OutOrStdout(), "%-12s  %s\n", e.Name, e.Title)
			continue
		}
		needs := make([]string, 0, len(e.needs))
		for _, n := range e.needs {
			needs = append(needs, n.what)
		}
		if err := printJSON(cmd.OutOrStdout(), listed{e.Name, e.Title, needs}); err != nil {
			*c.code = exitPartly
			return nil // nobody reads any more
		}
	}
	return nil
}

// listed is one line of `lab list --json`.
type listed struct {
	Name  string   `json:"name"`
	Title string   `json:"title"`
	Needs []string `json:"needs"`
}

func (c *command) pages(cmd *cobra.Command, args []string) error {
	if err := writePages(args[0], All()); err != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "lab:", err)
		*c.code = exitPartly
	}
	return nil
}

func (c *command) role(_ *cobra.Command, args []string) error {
	*c.code = play(args)
	return nil
}

func isTerminal(cmd *cobra.Command) bool {
	f, ok := cmd.ErrOrStderr().(*os.File)
	return ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}
