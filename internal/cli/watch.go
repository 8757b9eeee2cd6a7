package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/policy"
	"github.com/solehold/solehold/internal/supervise"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// watchFlags are the flags of `watch`: those of the run that it launches, and
// those about health.
type watchFlags struct {
	run  *runFlags
	once bool
	unit string
	log  string
}

func (a *app) watchCommand() *cobra.Command {
	f := &watchFlags{run: newRunFlags()}
	f.run.onUnhealthy.value = "report"
	cmd := &cobra.Command{
		Use:   "watch DIR --health-… [flags] -- COMMAND [ARG...]",
		Short: "Start a service that is down, and save the evidence of one that hangs",
		Long: `Start a service that is down, and save the evidence of one that hangs.

The service is asked first. As long as it answers, nothing is done and nothing is
said. Where it does not and nobody has the directory, it is started through
solehold run in a session of its own, or as a systemd unit (--unit). Where
somebody has the directory, that one is alive and hangs, or is slow: evidence is
saved, and nothing else is done unless --on-unhealthy=restart is given. Where it
cannot be told who has the directory, nothing is done.

Each start is an event: solehold history --kind recovery DIR. Two watches of one
directory do not double what they do: the second one leaves.`,
		Example: `  solehold watch /srv/kb/data --health-http http://127.0.0.1:8080/healthz -- kb --addr :8080
  solehold watch --once /srv/kb/data --health-tcp 127.0.0.1:8080 -- kb      from cron or a timer
  solehold watch --unit kb.service /srv/kb/data --health-http http://127.0.0.1:8080/healthz`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.watch(cmd, f, args) },
	}
	cmd.Long += healthHelp + codesHelp("", watchCodes())
	fl := cmd.Flags()
	f.run.registerWatch(fl)
	fl.BoolVar(&f.run.retry, "retry", false, "forget earlier failures and a give-up")
	fl.BoolVar(&f.once, "once", false, "decide once and end, for cron and timers")
	fl.StringVar(&f.unit, "unit", "", "start and stop this systemd unit; no command is given then")
	fl.StringVar(&f.log, "log", "", "append the output of what is started to this file (default: it goes nowhere)")
	return cmd
}

// registerWatch adds what a watch shares with the run that it launches, and what
// it judges by.
func (f *runFlags) registerWatch(fl *pflag.FlagSet) {
	f.registerLock(fl)
	f.register(fl)
	fl.Lookup("on-unhealthy").DefValue = "report"
}

func (a *app) watch(cmd *cobra.Command, f *watchFlags, args []string) error {
	dash := cmd.ArgsLenAtDash()
	switch {
	case len(args) == 0 || dash == 0:
		return usage(cmd, "which directory? solehold watch DIR --health-http URL -- COMMAND")
	case dash < 0 && len(args) > 1:
		return usage(cmd, "put -- between the directory and the command: solehold watch %s … -- %s", args[0], strings.Join(args[1:], " "))
	case dash > 1:
		return usage(cmd, "watch takes exactly one directory before --, not %d", dash)
	case f.unit == "" && len(args) == 1:
		return usage(cmd, "no command given, and no --unit: solehold watch DIR --health-http URL -- COMMAND")
	case f.unit != "" && len(args) > 1:
		return usage(cmd, "a command and --unit: say one of them")
	}
	w, err := a.watchOf(cmd, f, args)
	if err != nil {
		return usage(cmd, "%v", err)
	}
	end, err := w.Run(cmd.Context())
	var command *supervise.CommandError
	switch {
	case errors.As(err, &command):
		return err
	case err != nil:
		return openError(args[0], err)
	}
	if end.Busy {
		a.say("%s: another watch is at work there. Nothing to do.", args[0])
	}
	a.code = watchCode(end)
	return nil
}

func (a *app) watchOf(cmd *cobra.Command, f *watchFlags, args []string) (supervise.Watch, error) {
	w := supervise.Watch{Once: f.once, Unit: f.unit, LogFile: f.log}
	named := args
	if f.unit != "" {
		named = []string{args[0], f.unit}
	}
	w.Config = a.config(f.run, named)
	w.Command = args[1:]
	if err := f.run.fill(&w.Config, cmd.Flags()); err != nil {
		return w, err
	}
	if err := f.run.watchable(&w.Config); err != nil {
		return w, err
	}
	dir, err := filepath.Abs(args[0])
	if err != nil {
		return w, err
	}
	w.Launch = slices.Concat([]string{"run"}, passed(cmd.Flags(), newRunFlags()), []string{dir, "--"}, args[1:])
	w.Look = func(ctx context.Context) solehold.Status {
		r := diagnose.Status(ctx, args[0], &w.Options)
		return r.Status
	}
	return w, nil
}

// watchable checks that a watch has something that it can ask.
func (f *runFlags) watchable(c *supervise.Config) error {
	switch {
	case f.health.notify > 0 || f.startup.notify > 0:
		return fmt.Errorf("--health-notify is for run: nobody but the wrapper hears what a command says of itself")
	case c.Health == nil:
		return fmt.Errorf("a watch needs a probe: say e.g. --health-http URL")
	}
	return nil
}

// passed lists the flags that were given and are those of the lock and the
// command: the run that is launched gets them too.
func passed(given *pflag.FlagSet, known *runFlags) []string {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	known.registerLock(own)
	return words(given, own, absolute)
}

// words lists the given flags that are also own ones, as they are written on a
// command line of another process: it may work in another directory, so path
// makes paths whole.
func words(given, own *pflag.FlagSet, path func(string) string) []string {
	var all []string
	given.Visit(func(flag *pflag.Flag) {
		if own.Lookup(flag.Name) == nil {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if slices.Contains([]string{"state", "reload", "reload-sum", "reload-lock", "log", "health-file", "startup-file", "health-unix", "startup-unix"}, flag.Name) {
				value = path(value)
			}
			all = append(all, "--"+flag.Name+"="+value)
		}
	})
	return all
}

// absolute gives a path that does not depend on where a process works.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// watchCode is the exit code of a watch that ended.
func watchCode(end supervise.Watched) int {
	switch {
	case end.GaveUp:
		return exitGaveUp
	case end.Held:
		return 0
	}
	switch end.Cause {
	case policy.BecauseUnknown:
		return watchUnknown
	case policy.BecauseReported, policy.BecauseLaunch, policy.BecauseBackoff:
		return watchUnwell
	}
	return 0
}

// newRunFlags returns the flags of a run with their defaults.
func newRunFlags() *runFlags {
	return &runFlags{
		grace: seconds(supervise.DefaultGrace), timeout: seconds(solehold.DefaultTimeout),
		hold:        choice{string(supervise.HoldTree), []string{string(supervise.HoldTree), string(supervise.HoldNone)}},
		orphans:     choice{string(supervise.OrphansRefuse), []string{string(supervise.OrphansRefuse), string(supervise.OrphansStop)}},
		clusterDown: newClusterDown(),
		stopSignal:  signalFlag{supervise.DefaultStopSignal}, healthFlags: newHealthFlags(),
	}
}

// registerLock adds the flags about the lock and the command, which a watch
// passes on.
func (f *runFlags) registerLock(fl *pflag.FlagSet) {
	fl.BoolVar(&f.create, "create", false, "make the directory if it is missing (mode 0700)")
	fl.BoolVar(&f.strict, "strict", false, "refuse file systems on which one owner cannot be promised")
	fl.StringVar(&f.name, "name", "", "the name that others see (default: that of the command)")
	fl.StringVar(&f.state, "state", "", "keep solehold's files in this directory, for a command that wants DIR empty")
	fl.Var(&f.grace, "grace", "time between the stop signal and SIGKILL")
	fl.Var(&f.timeout, "timeout", "how long the file system may take to answer")
	fl.Var(&f.hold, "hold", "who keeps the lock if the wrapper dies: tree or none")
	fl.Var(&f.orphans, "orphans", "what to do about the command of a run whose wrapper was killed: refuse or stop")
	fl.Var(&f.stopSignal, "stop-signal", "the signal that asks the command to end")
}
