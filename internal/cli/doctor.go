package cli

import (
	"fmt"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/spf13/cobra"
)

// doctorFlags are the flags of `doctor`.
type doctorFlags struct {
	pid                     int
	maxAge, timeout, redraw seconds
	dot, svg                bool
}

func (a *app) doctorCommand() *cobra.Command {
	f := &doctorFlags{timeout: seconds(solehold.DefaultTimeout)}
	cmd := &cobra.Command{
		Use:   "doctor [PATH...]",
		Short: "Explain any lock trouble on this host",
		Long: `Explain any lock trouble on this host: who holds what, who waits for whom, and
what is wrong with it. With paths (files or data directories) it tells about
these, otherwise about the whole host. It takes nothing, changes nothing and
signals nobody; ask as root to see the processes of other users. With --cluster URL
it judges the engine of a cluster instead (solehold-cluster doctor --help).`,
		Example: `  solehold doctor
  solehold doctor /var/lib/dpkg/lock-frontend
  solehold doctor --max-age 24h --json | jq '.findings[].id'
  solehold doctor --svg > waits.svg
  solehold doctor explain SH021`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, paths []string) error { return a.doctor(cmd, f, paths) },
	}
	cmd.Long += codesHelp("", doctorCodes())
	cmd.Flags().IntVar(&f.pid, "pid", 0, "only what concerns this process")
	cmd.Flags().Var(&f.maxAge, "max-age", "also tell of locks that are held for longer, e.g. 24h")
	cmd.Flags().Var(&f.timeout, "timeout", "how long the whole look may take")
	cmd.Flags().Var(&f.redraw, "watch", "look again and again with this pause, until Ctrl-C (needs a terminal)")
	cmd.Flags().BoolVar(&f.dot, "dot", false, "print who waits for whom as a graph for Graphviz")
	cmd.Flags().BoolVar(&f.svg, "svg", false, "print who waits for whom as a picture")
	for _, name := range []string{"max-age", "watch"} {
		cmd.Flags().Lookup(name).DefValue = "" // no time that would be worth printing
	}
	cmd.AddCommand(a.explainCommand())
	return cmd
}

func (a *app) doctor(cmd *cobra.Command, f *doctorFlags, paths []string) error {
	if f.pid < 0 {
		return usage(cmd, "--pid %d: a pid is positive", f.pid)
	}
	if f.dot && f.svg || (f.dot || f.svg) && f.redraw > 0 {
		return usage(cmd, "--dot, --svg and --watch are three ways to show it: choose one")
	}
	o := doctor.Options{Paths: paths, PID: f.pid, MaxAge: time.Duration(f.maxAge), Timeout: time.Duration(f.timeout)}
	if err := doctor.Able(o); err != nil {
		return err
	}
	if f.redraw > 0 {
		return a.watchDoctor(cmd, o, time.Duration(f.redraw))
	}
	r := doctor.Examine(cmd.Context(), o)
	a.code = doctorCode(r)
	switch {
	case f.dot:
		fmt.Fprint(a.env.Stdout, r.Graph.DOT())
	case f.svg:
		fmt.Fprint(a.env.Stdout, r.Graph.SVG())
	case a.json:
		a.printJSON(a.env.Stdout, r)
	default:
		a.printDoctor(a.env.Stdout, r)
	}
	return nil
}

// doctorCode is 2 if something that was asked for could not be looked at, and if
// nothing was found where not everything could be seen.
func doctorCode(r doctor.Report) int {
	for _, g := range r.Gaps {
		if g.NotRun {
			return doctorGaps
		}
	}
	switch {
	case len(r.Findings) > 0:
		return doctorFindings
	case len(r.Gaps) > 0:
		return doctorGaps
	}
	return doctorNothing
}
