package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/dataroot"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/spf13/cobra"
)

// rootFlags are those of the verbs of `root`.
type rootFlags struct {
	instance  string
	per       string
	ephemeral bool
	yes       bool
	adopt     bool
	strict    bool
	pins      string
	timeout   seconds
}

// below makes a verb of what it does below a base.
func (f *rootFlags) below(do func(ctx context.Context, base string, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		base, err := baseOf(args[0])
		if err == nil {
			err = f.named(cmd)
		}
		if err != nil {
			return err
		}
		return rootError(cmd, args[0], do(cmd.Context(), base, args))
	}
}

// instances gives a verb its ways to name an instance.
func (f *rootFlags) instances(cmd *cobra.Command, kinds string) {
	cmd.Flags().StringVar(&f.instance, "instance", "", "which one of several instances of the service")
	cmd.Flags().StringVar(&f.per, "per", "", "name the instance by what this root is for: "+kinds)
}

// named fills in the instance that --per asks for.
func (f *rootFlags) named(cmd *cobra.Command) (err error) {
	const next = "name the instance yourself: --instance NAME"
	switch {
	case f.per == "":
		return nil
	case f.instance != "":
		return usage(cmd, "--instance %s and --per %s both name the instance", f.instance, f.per)
	case f.per == "uuid" && cmd.Name() == "path":
		return usage(cmd, "--per uuid: a UUID is made with its root; solehold root new prints where")
	}
	switch f.per {
	case "uuid":
	case "host":
		if f.instance, err = dataroot.HostInstance(); err != nil {
			return &refusedRoot{fmt.Errorf("this host has no name that lasts: %w", err), next}
		}
	case "unit":
		if f.instance = dataroot.UnitInstance(); f.instance == "" {
			return &refusedRoot{errors.New("this is not run by an instance of a systemd unit, such as kb@blue.service"), next}
		}
	default:
		return usage(cmd, "--per %s: the choices are host, unit and uuid", f.per)
	}
	return nil
}

// bound gives a verb its limit of time.
func (f *rootFlags) bound(cmd *cobra.Command) {
	f.timeout = seconds(solehold.DefaultTimeout)
	cmd.Flags().Var(&f.timeout, "timeout", "how long the file system may take to answer")
}

func (f *rootFlags) question(base string) diagnose.Question {
	return diagnose.Question{Path: base, Op: "look for data roots", Limit: time.Duration(f.timeout)}
}

func (a *app) rootCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "root",
		Short: "Keep data directories of services apart",
		Long: `Keep data directories of services apart: one for each service and instance, below
a base. BASE is a directory, or one of the words state, cache and runtime for the
place that this system has for such data.

A root remembers on which disk it was born, and is not born again where that disk
is not mounted.`,
		Example: `  solehold root new state kb
  solehold run "$(solehold root path state kb)" -- kb
  solehold root gc /srv/scratch`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.rootNew(), a.rootList(), a.rootGC(), a.rootPath())
	return cmd
}

// baseOf reads a base: a word for a place, or a path.
func baseOf(word string) (string, error) {
	switch kind := dataroot.Kind(word); kind {
	case dataroot.State, dataroot.Cache, dataroot.Runtime:
		base, err := dataroot.Base(kind)
		if err != nil {
			return "", &refusedRoot{err, "name a directory in place of " + word}
		}
		return base, nil
	}
	return filepath.Abs(word)
}

func (a *app) rootNew() *cobra.Command {
	f := &rootFlags{}
	cmd := &cobra.Command{
		Use:   "new BASE NAME",
		Short: "Make the data root of a service, and print its path",
		Example: `  solehold root new state kb --instance blue
  solehold root new /shared kb --per host`,
		Args: baseAndName,
		RunE: f.below(func(ctx context.Context, base string, args []string) error {
			warn := func(err error) { a.say("warning: %v", err) }
			o := &dataroot.Options{
				Instance: f.instance, Fresh: f.per == "uuid", Ephemeral: f.ephemeral, Adopt: f.adopt, Pins: f.pins,
				Lock: solehold.Options{Strict: f.strict, Timeout: time.Duration(f.timeout), OnWarning: warn},
			}
			root, err := diagnose.Ask(ctx, f.question(base), func() (*dataroot.Root, error) { return dataroot.Open(ctx, base, args[1], o) })
			if err != nil {
				return err
			}
			defer root.Close()
			return a.printRoot(dataroot.Listed{Meta: root.Meta(), Path: root.Dir()})
		}),
	}
	cmd.Long = cmd.Short + ". One that is there stays as it is." + codesHelp("", rootNewCodes())
	f.bound(cmd)
	f.instances(cmd, "host, unit (of systemd) or uuid (a new one each time)")
	cmd.Flags().BoolVar(&f.ephemeral, "ephemeral", false, "a root that solehold root gc removes when nobody has it")
	cmd.Flags().BoolVar(&f.adopt, "adopt", false, "take the disk that the root lies on now for its own: it was moved on purpose")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "refuse odd places: below a directory for temporary files, inside another data directory")
	cmd.Flags().StringVar(&f.pins, "pins", "", "keep the notes of which root was born on which disk in this `directory`")
	return cmd
}

func (a *app) printRoot(l dataroot.Listed) error {
	if a.json {
		a.printJSON(a.env.Stdout, l)
		return nil
	}
	_, err := fmt.Fprintln(a.env.Stdout, l.Path)
	return err
}

func (a *app) rootPath() *cobra.Command {
	f := &rootFlags{}
	cmd := &cobra.Command{
		Use:     "path BASE NAME",
		Short:   "Print where the data root of a service is, or would be",
		Example: "  solehold root path state kb",
		Args:    baseAndName,
		RunE: f.below(func(_ context.Context, base string, args []string) error {
			path, err := dataroot.Path(base, args[1], f.instance)
			if err != nil {
				return err
			}
			return a.printRoot(dataroot.Listed{Meta: dataroot.Meta{Name: args[1], Instance: f.instance}, Path: path})
		}),
	}
	cmd.Long = cmd.Short + ". Nothing is made and no disk is asked." + codesHelp("", rootPathCodes())
	f.instances(cmd, "host or unit (of systemd)")
	return cmd
}

func (a *app) rootList() *cobra.Command {
	f := &rootFlags{}
	cmd := &cobra.Command{
		Use:     "list BASE",
		Short:   "List the data roots below a base",
		Example: "  solehold root list state",
		Args:    oneBase,
		RunE: f.below(func(ctx context.Context, base string, _ []string) error {
			all, err := diagnose.Ask(ctx, f.question(base), func() ([]dataroot.Listed, error) { return dataroot.List(base) })
			if err != nil {
				return err
			}
			a.printRoots(f.states(ctx, all), f.yes)
			return nil
		}),
	}
	cmd.Long = cmd.Short + "." + codesHelp("", rootListCodes())
	f.bound(cmd)
	return cmd
}

func (a *app) rootGC() *cobra.Command {
	f := &rootFlags{}
	cmd := &cobra.Command{
		Use:   "gc BASE",
		Short: "Remove ephemeral data roots that nobody has",
		Long: `Remove ephemeral data roots that nobody has: those that were made with
--ephemeral, while their lock is held, so that their owner is gone and nobody comes
in meanwhile. Without --yes it only says what it would remove.`,
		Example: "  solehold root gc /srv/scratch --yes",
		Args:    oneBase,
		RunE: f.below(func(ctx context.Context, base string, _ []string) error {
			o := &solehold.Options{Timeout: time.Duration(f.timeout)}
			// To remove much takes its time; whether the base answers is seen before.
			all, err := diagnose.Ask(ctx, f.question(base), func() ([]dataroot.Listed, error) { return dataroot.GC(ctx, base, true, o) })
			if err == nil && f.yes {
				all, err = dataroot.GC(ctx, base, false, o)
			}
			if err != nil {
				return err
			}
			a.printRoots(f.states(ctx, all), f.yes)
			return nil
		}),
	}
	cmd.Long += codesHelp("", rootListCodes())
	f.bound(cmd)
	cmd.Flags().BoolVar(&f.yes, "yes", false, "remove them")
	return cmd
}

// rootAnswer is one root as it is listed.
type rootAnswer struct {
	dataroot.Listed
	// State is the verdict of status; empty where it does not matter any more.
	State solehold.State `json:"state,omitempty"`
}

// states asks who has the roots that stay.
func (f *rootFlags) states(ctx context.Context, all []dataroot.Listed) []rootAnswer {
	answers := make([]rootAnswer, len(all))
	each(len(all), func(i int) {
		answers[i].Listed = all[i]
		if all[i].Removed {
			return
		}
		s, err := solehold.Inspect(ctx, all[i].Path, &solehold.Options{Timeout: time.Duration(f.timeout)})
		if answers[i].State = s.State; err != nil {
			answers[i].State = solehold.NotKnown
		}
	})
	return answers
}

func (a *app) printRoots(all []rootAnswer, yes bool) {
	if a.json {
		for _, r := range all {
			a.printJSON(a.env.Stdout, r)
		}
		return
	}
	if len(all) == 0 {
		fmt.Fprintln(a.env.Stdout, "no data roots")
		return
	}
	w := tabwriter.NewWriter(a.env.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tBORN\tPATH")
	for _, r := range all {
		name := r.Name
		if r.Instance != "" {
			name += "@" + r.Instance
		}
		fmt.Fprintf(w, "%s\t%s\t%s ago\t%s\n", name, solehold.Printable(r.text(yes)), solehold.Age(time.Since(r.Born)), solehold.Printable(r.Path))
	}
	w.Flush()
}

// text says in a few words how a root is, or what became of it.
func (r rootAnswer) text(yes bool) string {
	switch {
	case r.Removed && yes:
		return "removed"
	case r.Removed:
		return "would be removed"
	case r.Kept != "":
		return "kept: " + r.Kept
	case r.Ephemeral:
		return string(r.State) + ", ephemeral"
	}
	return string(r.State)
}

func baseAndName(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return usage(cmd, "which base and which name? solehold root %s BASE NAME", cmd.Name())
	}
	return nil
}

func oneBase(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage(cmd, "which base? solehold root %s BASE", cmd.Name())
	}
	return nil
}
