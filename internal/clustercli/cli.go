// Package clustercli is what a person can do with the locks of an engine: look at them, watch them change, break a claim,
// raise the tokens. It is the command line of solehold-cluster but for its agent; none of it is ever done by a program of
// ours by itself.
package clustercli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/cluster"
	"github.com/spf13/cobra"
)

// Env is the world a command runs in.
type Env struct {
	// Stdout takes the answer, Stderr everything else.
	Stdout, Stderr io.Writer
	// Open makes the engine's client.
	Open func(cluster.Target) (cluster.Backend, error)
	// Sources are where secrets come from.
	Sources cluster.Sources
	// Agent is the agent of a host.
	Agent func(ctx context.Context, h Host) error
}

// Exit codes, as those of solehold.
const (
	exitHeld    = 0
	exitFree    = 3
	exitUnknown = 4
	exitUsage   = 64
	exitNothing = 66 // there is no such claim
	exitEngine  = 74
	exitIsHeld  = 75
	exitRefused = 78
)

// app is what the commands share.
type app struct {
	env     Env
	url     string
	json    bool
	timeout time.Duration
	code    int
}

// Run runs one command line and returns the exit code.
func Run(ctx context.Context, env Env, args []string) int {
	a := &app{env: env}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return a.code
	}
	code, next := codeOf(err), nextStep(err)
	fmt.Fprintf(env.Stderr, "solehold-cluster: %s\n", solehold.Printable(strings.ReplaceAll(err.Error(), "\n", "; ")))
	if next != "" {
		fmt.Fprintf(env.Stderr, "  next: %s\n", next)
	}
	return code
}

// Root returns the command tree, for the pages that are made from it.
func Root() *cobra.Command { return (&app{}).root() }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "solehold-cluster",
		Short: "The locks of a cluster: who has them, and what an operator can do",
		Long: `The locks of a cluster: who has them, and what an operator can do.

They are taken by solehold run --cluster, which starts this program as its agent.
The engine is named as there: --cluster etcd://HOST:PORT,.../PREFIX. A password
comes from password-file=FILE in it, or from ` + cluster.PasswordVariable + `.

solehold cluster claim --sticky makes a lock sticky for a directory of this host;
it is a command of solehold itself, because it takes the directory.`,
		SilenceErrors: true, SilenceUsage: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no command %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	fl := root.PersistentFlags()
	fl.StringVar(&a.url, "cluster", "", "the engine: etcd://HOST:PORT,.../PREFIX")
	fl.BoolVar(&a.json, "json", false, "answer in JSON")
	fl.DurationVar(&a.timeout, "timeout", solehold.DefaultTimeout, "how long the engine may take to answer")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usagef("%v", err) })
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(a.statusCommand(), a.historyCommand(), a.doctorCommand(), a.watchCommand(), a.breakCommand(), a.raiseCommand(), a.agentCommand())
	return root
}

// usageError is a command line that cannot be understood.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// operator opens the engine for one command.
func (a *app) operator() (o cluster.Operator, t cluster.Target, done func(), err error) {
	if a.url == "" {
		return nil, t, nil, usagef("which engine? --cluster etcd://HOST:PORT,.../PREFIX")
	}
	if t, err = cluster.ParseURL(a.url, a.env.Sources); err != nil {
		return nil, t, nil, err
	}
	b, err := a.env.Open(t)
	if err != nil {
		return nil, t, nil, err
	}
	o, ok := b.(cluster.Operator)
	if !ok {
		return nil, t, nil, errors.Join(usagef("%s cannot be looked at", t.Engine), b.Close())
	}
	return o, t, func() { b.Close() }, nil
}

// ask does one thing at the engine, within the time limit.
func (a *app) ask(ctx context.Context, do func(context.Context, cluster.Operator, cluster.Target) error) error {
	o, t, done, err := a.operator()
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	return do(ctx, o, t)
}

func codeOf(err error) int {
	var use *usageError
	switch {
	case errors.As(err, &use), errors.Is(err, cluster.ErrURL), errors.Is(err, cluster.ErrName):
		return exitUsage
	case errors.Is(err, cluster.ErrNotThere):
		return exitNothing
	case errors.Is(err, cluster.ErrHeld):
		return exitIsHeld
	case errors.Is(err, cluster.ErrNoRaise), errors.Is(err, os.ErrPermission):
		return exitRefused
	}
	return exitEngine
}

func nextStep(err error) string {
	var use *usageError
	switch {
	case errors.As(err, &use):
		return "see solehold-cluster --help"
	case errors.Is(err, cluster.ErrURL):
		return "see docs/cluster.md for the parts of the URL"
	case errors.Is(err, cluster.ErrNotThere):
		return "see solehold-cluster status"
	case errors.Is(err, cluster.ErrHeld):
		return "stop its owner first; nothing was changed"
	case errors.Is(err, cluster.ErrNoRaise):
		return "see docs/cluster.md, \"An engine that was restored or replaced\""
	case errors.Is(err, cluster.ErrName):
		return ""
	}
	return "check that the engine answers from here; nothing was changed as far as is known"
}
