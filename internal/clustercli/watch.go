package clustercli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/cluster"
	"github.com/spf13/cobra"
)

func (a *app) watchCommand() *cobra.Command {
	every := time.Second
	cmd := &cobra.Command{
		Use:   "watch --cluster URL [NAME]",
		Short: "Tell each change of owner, until a signal ends it",
		Long: `Tell each change of owner of a lock, or of all, until a signal ends it. The engine
is looked at again and again, each time at all of it: after an outage nothing has
to be caught up with. Owners that came and went between two looks are not seen.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			switch {
			case len(args) > 1:
				return usagef("watch takes one NAME, or none for all")
			case every < 50*time.Millisecond:
				return usagef("--every %v is not at least 50ms", every)
			case len(args) == 1:
				name = args[0]
				if err := cluster.CheckName(name); err != nil {
					return err
				}
			}
			o, _, done, err := a.operator()
			if err != nil {
				return err
			}
			defer done()
			w := &watcher{a: a, o: o, name: name, before: map[string]cluster.Seen{}}
			return w.run(cmd.Context(), every)
		},
	}
	cmd.Flags().DurationVar(&every, "every", every, "how often to look")
	return cmd
}

// watcher tells what changes between looks.
type watcher struct {
	a      *app
	o      cluster.Operator
	name   string
	before map[string]cluster.Seen
	away   bool
}

func (w *watcher) run(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for first := true; ; first = false {
		seen, err := w.look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		}
		w.answered(err)
		if err == nil {
			w.tell(seen)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *watcher) look(ctx context.Context) ([]cluster.Seen, error) {
	ctx, cancel := context.WithTimeout(ctx, w.a.timeout)
	defer cancel()
	return w.o.Look(ctx, w.name)
}

// answered tells that the engine is away, and that it is back.
func (w *watcher) answered(err error) {
	switch away := err != nil; {
	case away == w.away:
	case away:
		fmt.Fprintf(w.a.env.Stderr, "solehold-cluster: %s: trying on\n", solehold.Printable(err.Error()))
	default:
		fmt.Fprintln(w.a.env.Stderr, "solehold-cluster: the engine answers again")
	}
	w.away = err != nil
}

// tell tells what has changed.
func (w *watcher) tell(seen []cluster.Seen) {
	now := map[string]cluster.Seen{}
	for _, s := range seen {
		now[s.Name] = s
	}
	for _, name := range slices.Sorted(maps.Keys(w.before)) {
		if _, there := now[name]; !there {
			w.say(cluster.Seen{Name: name})
		}
	}
	for _, s := range seen {
		if was, there := w.before[s.Name]; !there || !same(was, s) {
			w.say(s)
		}
	}
	w.before = now
}

// same reports whether nothing has happened between two looks.
func same(a, b cluster.Seen) bool {
	a.Left, b.Left = 0, 0
	return a == b
}

func (w *watcher) say(s cluster.Seen) {
	at := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	if w.a.json {
		printJSON(w.a.env.Stdout, struct {
			Time string `json:"time"`
			seenJSON
		}{at, answer(s)})
		return
	}
	line := fmt.Sprintf("%s  %-8s  %s  %s", at, state(s), s.Name, verdict(s))
	if s.Held && s.Info != "" {
		line += "; " + s.Info
	}
	fmt.Fprintln(w.a.env.Stdout, solehold.Printable(line))
}
