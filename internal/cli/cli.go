// Package cli is the command line: flags, output and exit codes, one file for
// each command. What a command finds out comes from the layers below.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/supervise"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Env is the world a command runs in.
type Env struct {
	// Stdin is what the command reads.
	Stdin io.Reader
	// Stdout takes the answer.
	Stdout io.Writer
	// Stderr takes everything else.
	Stderr io.Writer
	// Color says whether Stdout may be coloured.
	Color bool
}

// System is the world of this process. Colours are for a terminal whose user
// does not refuse them (NO_COLOR).
func System() Env {
	_, refused := os.LookupEnv("NO_COLOR")
	return Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Color: !refused && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(os.Stdout.Fd())),
	}
}

// app is what the commands share.
type app struct {
	env  Env
	json bool
	code int // what the process exits with
}

// Run runs one command line and returns the exit code.
func Run(ctx context.Context, env Env, args []string) int {
	a := &app{env: env}
	if len(args) > 0 && args[0] == supervise.AdoptVerb {
		return a.fail(supervise.Adopt(args[1:]))
	}
	root := a.root()
	if code, ran := companion(env, root, args); ran {
		return code
	}
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	if err := enoughFiles(); err != nil {
		return a.fail(err)
	}
	if err := root.ExecuteContext(ctx); err != nil {
		return a.fail(err)
	}
	return a.code
}

// Root returns the command tree, for the pages that are made from it.
func Root() *cobra.Command { return (&app{}).root() }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "solehold",
		Short: "One live owner for every data directory, and proof of who it is",
		Long: `One live owner for every data directory, and proof of who it is.

A second starter learns at once who the owner is and leaves. When an owner
dies, the next one starts at once, without any clean-up.`,
		Example: `  solehold run ./data -- redis-server --dir ./data
  solehold status ./data
  solehold history ./data`,
		SilenceErrors: true, SilenceUsage: true,
		Args: noSuchCommand, ValidArgsFunction: verbs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
	}
	root.PersistentFlags().BoolVar(&a.json, "json", false, "answer in JSON")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, "%s", flagText(err)) })
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddCommand(
		a.runCommand(), a.watchCommand(), a.statusCommand(), a.topCommand(), a.doctorCommand(), a.historyCommand(), a.incidentCommand(), a.releaseCommand(), a.cleanCommand(),
		a.unitCommand(), a.rootCommand(), a.clusterCommand(), a.versionCommand(),
	)
	return root
}

// usageError is a command line that cannot be understood.
type usageError struct {
	text, hint string
}

func (e *usageError) Error() string { return e.text }

func usage(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{text: fmt.Sprintf(format, args...), hint: "see " + cmd.CommandPath() + " --help"}
}

// noSuchCommand refuses words that are no command, and names those that are
// spelled nearly so.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	program, _ := companionOf(args)
	err := &usageError{text: fmt.Sprintf("there is no command %q, and no program %s", args[0], program), hint: "see solehold --help"}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		err.hint = "did you mean solehold " + strings.Join(near, ", or solehold ") + "?"
	}
	return err
}

// noArgs refuses words after a command that takes none.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(cmd, "%s takes no %q", cmd.Name(), args[0])
	}
	return nil
}

// flagText says what is wrong with a flag, without the words of Go's parsers.
func flagText(err error) string {
	text, _, parsed := strings.Cut(err.Error(), ": strconv.")
	if parsed {
		return text + ": not a number"
	}
	return text
}

// fail prints an error with the next step and returns its exit code.
func (a *app) fail(err error) int {
	code, next := codeOf(err), nextStep(err)
	if a.json {
		a.printJSON(a.env.Stderr, map[string]any{"error": err.Error(), "exit": code, "next": next})
		return code
	}
	fmt.Fprintf(a.env.Stderr, "solehold: %s\n", solehold.Printable(oneLine(err)))
	if next != "" {
		fmt.Fprintf(a.env.Stderr, "  next: %s\n", solehold.Printable(next))
	}
	return code
}

// oneLine joins the lines of several errors.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// say prints one line beside the answer.
func (a *app) say(format string, args ...any) {
	line := solehold.Printable(fmt.Sprintf(format, args...))
	if a.json {
		a.printJSON(a.env.Stderr, map[string]any{"note": line})
		return
	}
	fmt.Fprintf(a.env.Stderr, "solehold: %s\n", line)
}

// bold marks the verdict where colours are welcome; the word alone says it too.
func (a *app) bold(s string) string {
	if !a.env.Color {
		return s
	}
	return bold + s + plain
}

// toTerminal reports whether the answer goes to a terminal.
func (a *app) toTerminal() bool {
	f, ok := a.env.Stdout.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// dirArg checks that exactly one directory was given.
func dirArg(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage(cmd, "which directory? %s takes exactly one", cmd.Name())
	}
	return nil
}

var errFiles = errors.New("too few files may be open")
