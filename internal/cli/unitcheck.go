package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/service/unitcheck"
	"github.com/spf13/cobra"
)

func (a *app) unitCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Name the mistakes in systemd units that let two run or leave orphans",
		Long: `Name the mistakes in systemd units that let two run or leave orphans.

Each unit is read with the settings of its NAME.d directory beside it. Nothing is
changed and systemd is not asked: systemd-analyze verify tells what that says.
Each finding has an id, which stays: docs/units.md has them all.`,
		Example: "  solehold unit check /etc/systemd/system/kb.service",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(cmd, "which unit file? check takes one or more")
			}
			return a.checkUnits(cmd, args)
		},
	}
	cmd.Long += codesHelp("", unitCheckCodes())
	return cmd
}

func (a *app) checkUnits(cmd *cobra.Command, paths []string) error {
	all := []unitcheck.Finding{}
	for _, path := range paths {
		found, err := unitcheck.Check(path)
		var file *fs.PathError
		switch {
		case errors.As(err, &file):
			return &unitError{err, exitNoInput, ""}
		case err != nil:
			return usage(cmd, "%v", err)
		}
		all = append(all, found...)
	}
	if a.code = checkNothing; len(all) > 0 {
		a.code = checkFindings
	}
	if a.json {
		a.printJSON(a.env.Stdout, map[string]any{"findings": all})
		return nil
	}
	a.printFindings(all, len(paths))
	return nil
}

func (a *app) printFindings(all []unitcheck.Finding, files int) {
	w := a.env.Stdout
	switch len(all) {
	case 0:
		fmt.Fprintf(w, "nothing found in %s\n", count(files, "unit"))
	default:
		fmt.Fprintln(w, count(len(all), "finding"))
	}
	for _, f := range all {
		at := f.Path
		if f.Line > 0 {
			at = fmt.Sprintf("%s:%d", f.Path, f.Line)
		}
		fmt.Fprintf(w, "%s  %-7s  %s\n", a.bold(f.ID), f.Severity, solehold.Printable(at+"  "+f.Seen))
		fmt.Fprintf(w, "%s%s\n%snext: %s\n", margin, f.Why, margin, f.Advice)
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
