package cli

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/clean"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/spf13/cobra"
)

// cleanFlags are the flags of `clean`.
type cleanFlags struct {
	lookFlags
	pidfiles       []string
	incidents, yes bool
}

func (a *app) cleanCommand() *cobra.Command {
	f := &cleanFlags{}
	cmd := &cobra.Command{
		Use:   "clean DIR",
		Short: "Remove what is proven stale of a directory that nobody has",
		Long: `Remove what is proven stale of a data directory that nobody has: rotated history,
requests to let go that nobody followed, remembered failures (so that a give-up is
lifted), and a pid file that names a dead process. Without --yes it only says what
it would remove.

Nothing of this is ever in the way of a start: the directory is free when its lock
is, whatever lies there. So the lock file is never removed, and a held directory is
left alone: clean takes the lock while it acts. What it does not know by name, and
what was changed since it was judged, stays.`,
		Example: `  solehold clean /srv/kb/data
  solehold clean /srv/kb/data --yes
  solehold clean /srv/kb/data --pid-file /run/kb.pid --yes
  solehold clean /srv/kb/data --incidents --yes`,
		Args: dirArg,
		RunE: func(cmd *cobra.Command, args []string) error { return a.clean(cmd.Context(), f, args[0]) },
	}
	cmd.Long += codesHelp("", cleanCodes())
	cmd.Flags().StringArrayVar(&f.pidfiles, "pid-file", nil, "also this pid file, if the process that it names is proven dead (may be given again)")
	cmd.Flags().BoolVar(&f.incidents, "incidents", false, "also the saved evidence of incidents")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "remove it")
	f.register(cmd.Flags())
	return cmd
}

// cleanAnswer is what `clean` tells.
type cleanAnswer struct {
	Dir   string       `json:"dir"`
	Yes   bool         `json:"yes"`
	Items []clean.Item `json:"items"`
}

func (a *app) clean(ctx context.Context, f *cleanFlags, dir string) error {
	o := clean.Options{
		StateDir: f.state, Pidfiles: f.pidfiles, Incidents: f.incidents, Timeout: time.Duration(f.timeout), OnEvent: tellJournal,
		Judge: func(ctx context.Context, path string) (bool, string) {
			return doctor.DeadPidfile(ctx, path, doctor.Options{Timeout: time.Duration(f.timeout)})
		},
	}
	s := diagnose.Status(ctx, dir, f.options()).Status
	if err := mayClean(s); err != nil {
		return err
	}
	r, err := clean.Look(ctx, s.Dir, o)
	if err == nil && f.yes && r.Count(clean.Remove) > 0 {
		r, err = clean.Do(ctx, s.Dir, o)
	}
	if held, is := errors.AsType[*solehold.HeldError](err); is {
		return &inUseError{held.Error() + "; nothing was touched"}
	}
	if err != nil {
		return openError(dir, err)
	}
	a.printClean(cleanAnswer{s.Dir, f.yes, append([]clean.Item{}, r.Items...)}, r)
	if err := r.Err(); err != nil {
		return openError(dir, err)
	}
	return nil
}

// mayClean refuses a directory in which somebody works.
func mayClean(s solehold.Status) error {
	switch s.State {
	case solehold.Free:
		return nil
	case solehold.NotKnown:
		if s.Err == nil {
			return &solehold.OpError{Path: s.Dir, Reason: solehold.LockFailed, Err: errors.New("it cannot be told who has it")}
		}
		return s.Err
	case solehold.Unguarded:
		err := errors.New("nobody holds it, but a process works there; nothing was touched")
		if len(s.Findings) > 0 {
			err = fmt.Errorf("%s; nothing was touched", s.Findings[0])
		}
		return &solehold.OpError{Path: s.Dir, Reason: solehold.Refused, Err: err}
	}
	if s.Owner == nil {
		return &inUseError{s.Dir + " is held; nothing was touched"}
	}
	return &inUseError{fmt.Sprintf("%s already has its owner: %s; nothing was touched", s.Dir, s.Owner)}
}

func (a *app) printClean(answer cleanAnswer, r clean.Result) {
	if a.json {
		a.printJSON(a.env.Stdout, answer)
		return
	}
	if len(r.Items) == 0 {
		fmt.Fprintf(a.env.Stdout, "%s  nothing to clean\n", solehold.Printable(answer.Dir))
		return
	}
	w := tabwriter.NewWriter(a.env.Stdout, 0, 8, 2, ' ', 0)
	for _, i := range r.Items {
		what := string(i.Action)
		if i.Action == clean.Remove {
			what = "would remove"
		}
		fmt.Fprintf(w, "%s\t%s\t%s: %s\n", what, solehold.Printable(i.Path), i.Kind, solehold.Printable(i.Why))
	}
	w.Flush()
	if r.Count(clean.Remove) > 0 {
		fmt.Fprintln(a.env.Stdout, "nothing was removed; again with --yes to do it")
	}
}
