package cli

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// topFlags are the flags of `top`.
type topFlags struct {
	every   seconds
	timeout seconds
	once    bool
	sort    choice
	reverse bool
	filter  string
	roots   []string
}

const defaultEvery = 2 * time.Second

func (a *app) topCommand() *cobra.Command {
	f := &topFlags{every: seconds(defaultEvery), timeout: seconds(solehold.DefaultTimeout), sort: choice{orders()[0], orders()}}
	cmd := &cobra.Command{
		Use:   "top [DIR...]",
		Short: "Show all data directories of this host, live",
		Long: `Show all data directories of this host, live: who has each, since when, how it
is, and what happened to it; the worst first. Nothing has to be registered:
directories that somebody holds are found, those that are named are shown in
any case. On a terminal it redraws until q; otherwise it prints the table once.
It takes nothing, changes nothing and signals nobody; ask as root to see the
processes of other users.

Keys: s sorts by the next column, r turns the order round, / filters, arrows and
page keys scroll, q ends.`,
		Example: `  solehold top
  solehold top --sort refused /srv/kb/data
  solehold top --filter kb --once
  solehold top --json | jq '.directories[] | select(.state != "HELD") | .path'`,
		RunE: func(cmd *cobra.Command, dirs []string) error { return a.top(cmd, f, dirs) },
	}
	cmd.Long += codesHelp("", topCodes())
	fl := cmd.Flags()
	fl.Var(&f.every, "every", "the pause between two looks")
	fl.Var(&f.timeout, "timeout", "how long a file system may take to answer")
	fl.BoolVar(&f.once, "once", false, "print it once, also on a terminal")
	fl.Var(&f.sort, "sort", "what to sort by")
	fl.BoolVar(&f.reverse, "reverse", false, "turn the order round")
	fl.StringVar(&f.filter, "filter", "", "only rows that have this text somewhere")
	fl.StringArrayVar(&f.roots, "root", nil, "also the data roots below this directory (repeatable)")
	return cmd
}

func (a *app) top(cmd *cobra.Command, f *topFlags, dirs []string) error {
	if f.every <= 0 {
		return usage(cmd, "--every %s: a pause is longer than nothing", &f.every)
	}
	w := overview.NewWatcher(overview.Options{Paths: dirs, Roots: f.roots, Timeout: time.Duration(f.timeout)})
	b := &board{sort: f.sort.value, reverse: f.reverse, filter: f.filter}
	out := a.terminal()
	if out == nil || f.once {
		h := w.Look(cmd.Context())
		h.Directories = b.rows(h.Directories)
		if a.json {
			a.printJSON(a.env.Stdout, h)
			return cmd.Context().Err()
		}
		for _, line := range append([]string{summary(h)}, table(h.Directories, h.At, noLimit)...) {
			a.tell("%s", line)
		}
		return cmd.Context().Err()
	}
	return a.liveTop(cmd.Context(), w, b, live{out, time.Duration(f.every)})
}

// live is where and how often top draws.
type live struct {
	out   *os.File
	every time.Duration
}

// liveTop draws until the user or a signal ends it.
func (a *app) liveTop(ctx context.Context, w *overview.Watcher, b *board, l live) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	typed := make(chan []byte)
	if in, ok := a.env.Stdin.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		before, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return err
		}
		defer term.Restore(int(in.Fd()), before)
		go listen(ctx, in, typed)
	}
	s := openScreen(l.out)
	defer s.close()
	looks := make(chan overview.Host)
	go look(ctx, w, l.every, looks)
	var h overview.Host
	for !b.quit {
		select {
		case h = <-looks:
		case keys := <-typed:
			b.typed(keys)
		case <-s.resized:
		case <-ctx.Done():
			return nil
		}
		width, height := s.size()
		lines, worst := b.picture(h, width, height)
		s.draw(lines, width, func(i int) bool { return a.env.Color && worst[i] })
	}
	return nil
}

// look looks again and again. It is apart from the drawing, since a key must be
// answered also while a file system is not.
func look(ctx context.Context, w *overview.Watcher, every time.Duration, to chan<- overview.Host) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		h := w.Look(ctx)
		select {
		case to <- h:
		case <-ctx.Done():
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// listen passes on what is typed. It ends with the process: nothing else ends a
// read of a terminal.
func listen(ctx context.Context, in *os.File, to chan<- []byte) {
	for {
		buf := make([]byte, 64)
		n, err := in.Read(buf)
		if err != nil {
			return
		}
		select {
		case to <- buf[:n]:
		case <-ctx.Done():
			return
		}
	}
}

// has reports whether a row has a text somewhere that a person sees.
func has(d overview.Directory, text string) bool {
	return text == "" || strings.Contains(strings.ToLower(strings.Join(cells(d, time.Now()), " ")), strings.ToLower(text))
}
