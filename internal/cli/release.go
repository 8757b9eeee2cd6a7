package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/supervise"
	"github.com/spf13/cobra"
)

// releaseFlags are the flags of `release`.
type releaseFlags struct {
	timeout       patience
	force         bool
	reason, state string
}

func (a *app) releaseCommand() *cobra.Command {
	f := &releaseFlags{timeout: patience{seconds(30 * time.Second)}}
	cmd := &cobra.Command{
		Use:   "release DIR",
		Short: "Ask the owner of a data directory to let go, and wait for it",
		Long: `Ask the owner of a data directory to let go, and wait until it has. Under
solehold run the command is stopped as by its stop signal, in its own time. Who
asks and why is told to the owner and kept in the history.

An owner that does not follow keeps the directory, and the request is withdrawn.
With --force its processes are stopped then: their evidence is saved first (see
solehold incident), and only those are signalled that the kernel shows to share
the lock, with what runs below them; never one that only a record names.`,
		Example: `  solehold release /srv/kb/data --reason "upgrade to 4.2"
  solehold release /srv/kb/data --timeout 5m
  solehold release /srv/kb/data --timeout 10s --force`,
		Args: dirArg,
		RunE: func(cmd *cobra.Command, args []string) error { return a.release(cmd.Context(), f, args[0]) },
	}
	cmd.Long += codesHelp("", releaseCodes())
	cmd.Flags().Var(&f.timeout, "timeout", "how long to wait for the owner; 'forever' for no limit")
	cmd.Flags().BoolVar(&f.force, "force", false, "after that time save the evidence and stop its processes")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for the owner and the history")
	cmd.Flags().StringVar(&f.state, "state", "", "where solehold's files lie, if not in DIR")
	return cmd
}

// releasing is one `release`.
type releasing struct {
	a      *app
	f      *releaseFlags
	dir    string
	o      solehold.Options
	status solehold.Status
	answer releaseAnswer
}

// releaseAnswer is what `release` tells.
type releaseAnswer struct {
	Dir      string          `json:"dir"`
	State    solehold.State  `json:"state"`
	Owner    *solehold.Owner `json:"owner,omitempty"`
	Asked    bool            `json:"asked"`
	Waited   float64         `json:"waited"`
	Stopped  []int           `json:"stopped,omitempty"`
	Incident string          `json:"incident,omitempty"`
	Finding  string          `json:"finding,omitempty"`
	Exit     int             `json:"exit"`
}

func (a *app) release(ctx context.Context, f *releaseFlags, dir string) error {
	ctx, stop := untilSignal(ctx)
	defer stop()
	r := &releasing{a: a, f: f, dir: dir, o: solehold.Options{StateDir: f.state, OnEvent: tellJournal}}
	var err error
	if r.status, err = solehold.InspectNamed(ctx, dir, &r.o); err != nil {
		return err
	}
	r.answer = releaseAnswer{Dir: r.status.Dir, State: r.status.State, Owner: r.status.Owner}
	switch r.status.State {
	case solehold.Free:
		return r.tell(0, "nobody has it")
	case solehold.NotKnown:
		return r.status.Err
	case solehold.Unguarded:
		return r.tell(exitHeld, "the lock is free, so there is no owner to ask, but %s; stop it yourself", r.odd())
	}
	if r.status.Owner != nil && supervise.Inside(*r.status.Owner) {
		return &supervise.InsideError{Dir: r.status.Dir}
	}
	token, err := r.token(ctx)
	if err != nil {
		return err
	}
	if token == 0 && !f.force {
		return r.tell(exitHeld, "its owner cannot be asked: it wrote no record that can be read, so nobody can be addressed: %s", r.status.Owner)
	}
	return r.ask(ctx, token)
}

// token is that of the owner, by its record or, where that was removed, by the
// history; 0 where neither can be read.
func (r *releasing) token(ctx context.Context) (uint64, error) {
	if r.status.Token != 0 {
		return r.status.Token, nil
	}
	h, err := diagnose.History(ctx, r.dir, &r.o)
	if err != nil {
		return 0, openError(r.dir, err)
	}
	return h.LastToken(), nil
}

// odd is what the look at the directory found.
func (r *releasing) odd() string {
	if len(r.status.Findings) > 0 {
		return r.status.Findings[0]
	}
	return "a process works there"
}

func (r *releasing) ask(ctx context.Context, token uint64) error {
	q, err := solehold.RequestRelease(ctx, r.dir, solehold.ReleaseRequest{Token: token, Why: r.f.reason}, &r.o)
	if err != nil {
		return err
	}
	// It stays for as long as it is waited for, and not a moment longer: a holder
	// that was stopped must not follow it tomorrow.
	defer q.Withdraw()
	begin := time.Now()
	if r.answer.Asked = token != 0; r.answer.Asked {
		err = r.wait(ctx, q)
		r.answer.Waited = time.Since(begin).Seconds()
		if err == nil {
			return r.released(ctx, "let go after %s", short(time.Since(begin)))
		}
		if !errors.Is(err, solehold.ErrHeld) {
			return err
		}
		if !r.f.force {
			q.Withdraw()
			return r.tell(exitHeld, "%s did not let go within %s; the request is withdrawn, though it may have heard it", r.status.Owner, &r.f.timeout)
		}
	}
	return r.force(ctx, q, time.Since(begin))
}

// wait says now and then that it waits.
func (r *releasing) wait(ctx context.Context, q *solehold.PendingRelease) error {
	limit := "without limit"
	if r.f.timeout.seconds >= 0 {
		limit = "of " + r.f.timeout.String()
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.f.timeout.seconds))
		defer cancel()
	}
	done := make(chan error, 1)
	go func() { done <- q.Wait(ctx) }()
	begin, tick := time.Now(), time.NewTicker(time.Second)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			if n == 1 || n%5 == 0 {
				r.a.say("waiting for %s to finish, %s %s", r.who(), short(time.Since(begin)), limit)
			}
		}
	}
}

// who names the owner in a few words.
func (r *releasing) who() string {
	o := r.status.Owner
	switch {
	case o == nil || !o.Visible():
		return "an owner that is not visible here"
	case o.Name != "":
		return fmt.Sprintf("pid %d (%s)", o.PID, o.Name)
	}
	return fmt.Sprintf("pid %d (%s)", o.PID, solehold.CommandLine(o.Command))
}

func (r *releasing) force(ctx context.Context, q *solehold.PendingRelease, waited time.Duration) error {
	state, err := q.StateRoot()
	if err != nil {
		r.a.say("no place for the evidence: %v", err)
	} else {
		defer state.Close()
	}
	done, err := supervise.ForceRelease(ctx, supervise.Force{
		Dir: r.status.Dir, Options: r.o, Because: "release --force by " + q.Request().String(), Waited: waited,
		State: state, Log: q.Log, Say: r.a.say,
	})
	r.answer.Stopped, r.answer.Incident, r.answer.Finding = done.PIDs, done.Incident, done.Finding
	if err != nil {
		return err
	}
	if len(done.PIDs) == 0 {
		return r.released(ctx, "let go after %s", short(waited))
	}
	return r.released(ctx, "was stopped; incident %s: %s", done.Incident, done.Finding)
}

// released tells the end, and who has the directory by now.
func (r *releasing) released(ctx context.Context, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if s, err := solehold.Inspect(ctx, r.dir, &r.o); err == nil {
		if r.answer.State = s.State; s.Owner != nil {
			text += fmt.Sprintf("; it has another owner by now: %s", s.Owner)
		}
	}
	return r.tell(0, "%s %s", r.who(), text)
}

// tell prints the answer and sets the exit code.
func (r *releasing) tell(code int, format string, args ...any) error {
	r.a.code, r.answer.Exit = code, code
	if r.a.json {
		r.a.printJSON(r.a.env.Stdout, r.answer)
		return nil
	}
	text := fmt.Sprintf(format, args...)
	if code != 0 {
		r.a.say("%s: %s", r.answer.Dir, text)
		return nil
	}
	fmt.Fprintln(r.a.env.Stdout, solehold.Printable(fmt.Sprintf("%-9s %s  %s", r.answer.State, r.answer.Dir, text)))
	return nil
}

func short(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second)
}

// interruptedError says that a signal ended the wait.
type interruptedError struct{ signal syscall.Signal }

// Error says what became of the request.
func (e *interruptedError) Error() string {
	return "stopped by " + supervise.SignalName(e.signal) + "; the request is withdrawn, and the owner may have heard it"
}

// untilSignal ends the context with a signal that asks to end, so that what was
// asked can be withdrawn.
func untilSignal(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-signals:
			cancel(&interruptedError{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}
