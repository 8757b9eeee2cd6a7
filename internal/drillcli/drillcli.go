// Package drillcli is the command line of solehold-drill: flags, output and exit codes of `solehold drill` and
// `solehold lab`, one file for each. What they find out comes from the layers below.
package drillcli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/drill"
	"github.com/solehold/solehold/internal/lab"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Env is the world a command runs in.
type Env struct {
	// Stdout takes the answer.
	Stdout io.Writer
	// Stderr takes everything else.
	Stderr io.Writer
	// Live says whether Stderr is a terminal: it shows one line that changes.
	Live bool
}

// System is the world of this process.
func System() Env {
	return Env{Stdout: os.Stdout, Stderr: os.Stderr, Live: os.Getenv("TERM") != "dumb" && term.IsTerminal(int(os.Stderr.Fd()))}
}

const exitUsage = 64

// app is what the commands share.
type app struct {
	env  Env
	code int // what the process exits with
}

// Run runs one command line and returns the exit code.
func Run(ctx context.Context, env Env, args []string) int {
	if len(args) > 0 && args[0] == drill.CradleVerb {
		return drill.Cradle(args[1:])
	}
	if len(args) > 0 && args[0] == drill.BystanderVerb {
		return drill.Bystander()
	}
	a := &app{env: env}
	root := a.root()
	root.SetArgs(append([]string{}, args...)) // for nil it would take those of the process
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		verb := ""
		if len(args) > 0 && (args[0] == "drill" || args[0] == "lab") {
			verb = args[0] + " "
		}
		return a.fail(err, verb)
	}
	return a.code
}

// Root returns the command tree, for the pages that are made from it.
func Root() *cobra.Command { return (&app{}).root() }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "solehold-drill",
		Short:         "Force the faults that are otherwise met by chance",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "solehold"},
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(a.drillCommand(), lab.Command(&a.code))
	return root
}

// usageError is a command line that cannot be understood.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// fail prints an error and returns the exit code. Every error of a verb is about its command line.
func (a *app) fail(err error, verb string) int {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	fmt.Fprintf(a.env.Stderr, "solehold: %s\n  next: see solehold %s--help\n", solehold.Printable(text), verb)
	return exitUsage
}
