package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/evidence"
	"github.com/spf13/cobra"
)

// incidentFlags are the flags of all verbs of `incident`.
type incidentFlags struct {
	lookFlags
	file, out string
}

func (a *app) incidentCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "incident",
		Short: "Show what was saved of a service before it was stopped",
		Long: `Show what was saved of a service that hung or failed, before it was stopped: its
threads and what they wait for, locks and who holds them, open files, sockets,
memory and output.`,
		Example: `  solehold incident list /srv/kb/data
  solehold incident show /srv/kb/data
  solehold incident pack /srv/kb/data`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(cmd, "there is no incident %s; there are list, show and pack", args[0])
			}
			return cmd.Help()
		},
	}
	f := &incidentFlags{}
	cmd.AddCommand(a.incidentListCommand(f), a.incidentShowCommand(f), a.incidentPackCommand(f))
	for _, sub := range cmd.Commands() {
		f.register(sub.Flags())
	}
	return cmd
}

func (a *app) incidentListCommand(f *incidentFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list DIR",
		Short: "List the incidents of a data directory, the newest last",
		Long:  "List the incidents of a data directory, the newest last.",
		Example: `  solehold incident list /srv/kb/data
  solehold incident list --json /srv/kb/data | tail -1`,
		Args: dirArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := diagnose.Incidents(cmd.Context(), args[0], f.options())
			if err != nil {
				return incidentError(args[0], err)
			}
			a.printIncidents(all)
			return nil
		},
	}
	cmd.Long += codesHelp("", historyCodes())
	return cmd
}

func (a *app) printIncidents(all []evidence.Incident) {
	if a.json {
		for _, in := range all {
			a.printJSON(a.env.Stdout, in)
		}
		return
	}
	if len(all) == 0 {
		fmt.Fprintln(a.env.Stdout, "no incidents")
		return
	}
	w := tabwriter.NewWriter(a.env.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "TIME (UTC)\tAGE\tINCIDENT\tFINDING")
	for _, in := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", in.Time.UTC().Format("2006-01-02 15:04:05Z"), solehold.Age(time.Since(in.Time)),
			solehold.Printable(in.ID), solehold.Printable(in.Finding))
	}
	w.Flush()
}

func (a *app) incidentShowCommand(f *incidentFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show DIR [ID]",
		Short: "Show an incident, the newest one if none is named",
		Long: `Show the summary of an incident, the newest one if none is named. It begins with
what was seen. Other parts are shown by their names; what a terminal would obey
is replaced in all of them.`,
		Example: `  solehold incident show /srv/kb/data
  solehold incident show /srv/kb/data 20261129T133007Z-1 --file threads.txt`,
		Args: incidentArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.incidentShow(cmd, f, args) },
	}
	cmd.Long += codesHelp("", incidentCodes("this is the incident"))
	cmd.Flags().StringVar(&f.file, "file", "", "another part: waits.txt, threads.txt, locks.txt and so on")
	return cmd
}

// incidentArgs checks for a directory and, if wanted, the name of an incident.
func incidentArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || len(args) > 2 {
		return usage(cmd, "%s takes a directory and the name of an incident", cmd.Name())
	}
	return nil
}

func (a *app) incidentShow(cmd *cobra.Command, f *incidentFlags, args []string) error {
	name := diagnose.PartName{File: f.file}
	if len(args) > 1 {
		name.ID = args[1]
	}
	if f.file == "" {
		name.File = "summary.md"
	}
	p, err := diagnose.IncidentPart(cmd.Context(), args[0], f.options(), name)
	switch {
	case err != nil:
		return incidentError(args[0], err)
	case a.json && f.file == "":
		a.printJSON(a.env.Stdout, p.Incident)
	case a.json:
		a.printJSON(a.env.Stdout, map[string]any{"id": p.Incident.ID, "file": f.file, "text": string(p.Text), "cut": p.Cut})
	default:
		a.printText(p.Text)
	}
	if p.Cut {
		a.say("%s is longer than %d bytes; the rest was not read", name.File, evidence.MaxPart)
	}
	return nil
}

// printText prints lines that others have written.
func (a *app) printText(text []byte) {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "  ")
		b.WriteString(solehold.Printable(line) + "\n")
	}
	fmt.Fprint(a.env.Stdout, b.String())
}

// incidentError adds the directory to what is missing in it.
func incidentError(dir string, err error) error {
	if isNoIncident(err) {
		return fmt.Errorf("%s: %w", dir, err)
	}
	var pe *fs.PathError
	if errors.Is(err, evidence.ErrNotOurs) && errors.As(err, &pe) {
		return &solehold.OpError{Path: pe.Path, Reason: solehold.Refused, Err: pe.Err}
	}
	return openError(dir, err)
}

func (a *app) incidentPackCommand(f *incidentFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pack DIR [ID]",
		Short: "Pack an incident for a ticket, with secrets masked",
		Long: `Pack an incident, the newest one if none is named, as a tar.gz for a ticket.
Secrets in environments, command lines and output are masked as far as they can
be told. A file that exists is never overwritten.`,
		Example: `  solehold incident pack /srv/kb/data
  solehold incident pack /srv/kb/data -o - | ssh host 'cat >incident.tar.gz'`,
		Args: incidentArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.incidentPack(cmd, f, args) },
	}
	cmd.Long += codesHelp("", incidentCodes("the incident is packed"))
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "the file to make, or - for standard output (default: incident-ID.tar.gz here)")
	return cmd
}

func (a *app) incidentPack(cmd *cobra.Command, f *incidentFlags, args []string) error {
	if f.out == "-" && a.toTerminal() {
		return usage(cmd, "an archive is nothing for a terminal; redirect it, or name a file")
	}
	id := ""
	if len(args) > 1 {
		id = args[1]
	}
	p, err := diagnose.PackIncident(cmd.Context(), args[0], f.options(), id)
	if err != nil {
		return incidentError(args[0], err)
	}
	if f.out == "-" {
		if _, err = a.env.Stdout.Write(p.Archive); err != nil {
			return openError("standard output", &fs.PathError{Op: "write", Path: "standard output", Err: err})
		}
		return nil
	}
	name := f.out
	if name == "" {
		name = "incident-" + p.ID + ".tar.gz"
	}
	if err := saveNew(name, p.Archive); err != nil {
		return openError(name, err)
	}
	if a.json {
		a.printJSON(a.env.Stdout, map[string]any{"id": p.ID, "file": name, "bytes": len(p.Archive)})
		return nil
	}
	fmt.Fprintf(a.env.Stdout, "%s  %d bytes\n", solehold.Printable(name), len(p.Archive))
	return nil
}

// saveNew makes a file that was not there; one that cannot be written whole is
// removed again.
func saveNew(name string, content []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		os.Remove(name)
	}
	return err
}
