package cli

import (
	"fmt"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/dataroot"
	"github.com/spf13/cobra"
)

// rootFlags are those of the verbs of `root`.
type rootFlags struct {
	instance  string
	ephemeral bool
	yes       bool
	adopt     bool
	strict    bool
	pins      string
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

func rootCodes() []exitCode {
	return []exitCode{
		{0, "done"},
		{exitUsage, "the command line is wrong, or the name is none for a root"},
		{exitCreate, "something cannot be opened or made: missing, full, read-only"},
		{exitHeld, "the root is in use"},
		{exitPermission, "not permitted"},
		{exitRefused, "refused: it would not be safe, or the disk that it was born on is not mounted"},
	}
}

// baseOf reads a base: a word for a place, or a path.
func baseOf(word string) (string, error) {
	switch kind := dataroot.Kind(word); kind {
	case dataroot.State, dataroot.Cache, dataroot.Runtime:
		return dataroot.Base(kind)
	}
	return filepath.Abs(word)
}

func (a *app) rootNew() *cobra.Command {
	f := &rootFlags{}
	cmd := &cobra.Command{
		Use:     "new BASE NAME",
		Short:   "Make the data root of a service, and print its path",
		Example: "  solehold root new state kb --instance blue",
		Args:    baseAndName,
		RunE: func(cmd *cobra.Command, args []string) error {
			base, err := baseOf(args[0])
			if err != nil {
				return err
			}
			warn := func(err error) { a.say("warning: %v", err) }
			root, err := dataroot.Open(cmd.Context(), base, args[1], &dataroot.Options{
				Instance: f.instance, Ephemeral: f.ephemeral, Adopt: f.adopt, Pins: f.pins,
				Lock: solehold.Options{Strict: f.strict, OnWarning: warn},
			})
			if err != nil {
				return rootError(cmd, args[0], err)
			}
			defer root.Close()
			return a.printRoot(dataroot.Listed{Meta: root.Meta(), Path: root.Dir()})
		},
	}
	cmd.Long = cmd.Short + ". One that is there stays as it is." + codesHelp("", rootCodes())
	cmd.Flags().StringVar(&f.instance, "instance", "", "which one of several instances of the service")
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
		RunE: func(cmd *cobra.Command, args []string) error {
			base, err := baseOf(args[0])
			if err != nil {
				return err
			}
			path, err := dataroot.Path(base, args[1], f.instance)
			if err != nil {
				return rootError(cmd, args[0], err)
			}
			return a.printRoot(dataroot.Listed{Meta: dataroot.Meta{Name: args[1], Instance: f.instance}, Path: path})
		},
	}
	cmd.Flags().StringVar(&f.instance, "instance", "", "which one of several instances of the service")
	return cmd
}

func (a *app) rootList() *cobra.Command {
	return &cobra.Command{
		Use:     "list BASE",
		Short:   "List the data roots below a base",
		Example: "  solehold root list state",
		Args:    oneBase,
		RunE: func(cmd *cobra.Command, args []string) error {
			base, err := baseOf(args[0])
			if err != nil {
				return err
			}
			all, err := dataroot.List(base)
			if err != nil {
				return rootError(cmd, base, err)
			}
			a.printRoots(cmd, all)
			return nil
		},
	}
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
		RunE: func(cmd *cobra.Command, args []string) error {
			base, err := baseOf(args[0])
			if err != nil {
				return err
			}
			all, err := dataroot.GC(cmd.Context(), base, !f.yes, nil)
			if err != nil {
				return rootError(cmd, base, err)
			}
			a.printRoots(cmd, all)
			return nil
		},
	}
	cmd.Flags().BoolVar(&f.yes, "yes", false, "remove them")
	return cmd
}

func (a *app) printRoots(cmd *cobra.Command, all []dataroot.Listed) {
	if a.json {
		for _, l := range all {
			a.printJSON(a.env.Stdout, l)
		}
		return
	}
	if len(all) == 0 {
		fmt.Fprintln(a.env.Stdout, "no data roots")
		return
	}
	w := tabwriter.NewWriter(a.env.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tBORN\tPATH")
	for _, l := range all {
		name := l.Name
		if l.Instance != "" {
			name += "@" + l.Instance
		}
		fmt.Fprintf(w, "%s\t%s\t%s ago\t%s\n", name, solehold.Printable(a.rootState(cmd, l)), solehold.Age(time.Since(l.Born)), solehold.Printable(l.Path))
	}
	w.Flush()
}

// rootState says in a few words how a root is, or what became of it.
func (a *app) rootState(cmd *cobra.Command, l dataroot.Listed) string {
	remove := cmd.Flags().Lookup("yes")
	switch {
	case l.Removed && remove.Value.String() == "true":
		return "removed"
	case l.Removed:
		return "would be removed"
	case l.Kept != "":
		return "kept: " + l.Kept
	}
	s, err := solehold.Inspect(cmd.Context(), l.Path, nil)
	if err != nil {
		return "UNKNOWN"
	}
	if l.Ephemeral {
		return string(s.State) + ", ephemeral"
	}
	return string(s.State)
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
