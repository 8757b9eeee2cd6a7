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
		Long: `Tell each change of owner of a lock, or of all, until a signal ends it: at etcd as
it happens, at other engines by a look each second (--every). Each look is at all
of it, so after an outage nothing has to be caught up with. An owner that came and
went between two looks is told of afterwards, as ENDED: the engine keeps the last
` + fmt.Sprint(cluster.LivesKept) + ` tenures of each lock.`,
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
			w := &watcher{a: a, o: o, name: name, before: map[string]cluster.Seen{}, told: map[string]uint64{}, owing: map[string]bool{}}
			return w.run(cmd.Context(), every)
		},
	}
	cmd.Flags().DurationVar(&every, "every", every, "how often to look")
	return cmd
}

// settle is how long a look waits for what follows a change at once, and how often an engine that tells by itself is asked
// at most.
const settle = 20 * time.Millisecond

// watcher tells what changes between looks.
type watcher struct {
	a      *app
	o      cluster.Operator
	name   string
	before map[string]cluster.Seen
	told   map[string]uint64 // by lock: tenures with higher tokens have not been told of
	owing  map[string]bool   // locks whose last change is so new that its end may not be written yet
	away   bool
}

func (w *watcher) run(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var changed <-chan struct{}
	if f, ok := w.o.(cluster.Follower); ok {
		changed = f.Follow(ctx, w.name)
	}
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
			w.tell(ctx, seen, first)
		}
		select {
		case <-tick.C:
		case <-changed:
			select {
			case <-time.After(settle):
			case <-ctx.Done():
			}
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
func (w *watcher) tell(ctx context.Context, seen []cluster.Seen, first bool) {
	now := map[string]cluster.Seen{}
	for _, s := range seen {
		now[s.Name] = s
	}
	for _, name := range slices.Sorted(maps.Keys(w.before)) {
		if _, there := now[name]; !there {
			w.say(cluster.Seen{Name: name})
			delete(w.told, name)
		}
	}
	for _, s := range seen {
		was, there := w.before[s.Name]
		change := !there || !same(was, s)
		if first {
			w.told[s.Name] = untold(s)
		} else if change || w.owing[s.Name] {
			w.passed(ctx, s)
		}
		w.owing[s.Name] = change && !first
		if change {
			w.say(s)
		}
	}
	w.before = now
}

// untold is what the tokens of tenures are above that have ended after this look.
func untold(s cluster.Seen) uint64 {
	if s.Held && s.Highest > 0 {
		return s.Highest - 1
	}
	return s.Highest
}

// passed tells of tenures that have ended since the last look, but for the one that a free lock tells of itself.
func (w *watcher) passed(ctx context.Context, s cluster.Seen) {
	c, ok := w.o.(cluster.Chronicler)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, w.a.timeout)
	defer cancel()
	lives, err := c.Lives(ctx, s.Name)
	if err != nil {
		w.answered(err)
		return
	}
	w.told[s.Name] = min(w.told[s.Name], s.Highest) // less than before where the engine has lost its data
	for _, l := range lives {
		if l.Token <= w.told[s.Name] || l.Token > s.Highest || s.Held && l.Token == s.Token || l.End == cluster.Raised {
			continue
		}
		w.told[s.Name] = l.Token
		if s.Held || l.Since != s.Since || l.Info != s.Info {
			w.sayEnded(s.Name, l)
		}
	}
}

// same reports whether nothing has happened between two looks. That a holder renews, or was seen, is nothing.
func same(a, b cluster.Seen) bool {
	for _, s := range []*cluster.Seen{&a, &b} {
		s.Left, s.SeenAt, s.Note = 0, "", ""
	}
	return a == b
}

// at is when something is told.
func at() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

func (w *watcher) sayEnded(name string, l cluster.Life) {
	if w.a.json {
		printJSON(w.a.env.Stdout, struct {
			Time  string `json:"time"`
			State string `json:"state"`
			Name  string `json:"name"`
			cluster.Life
		}{at(), "ENDED", name, l})
		return
	}
	line := fmt.Sprintf("%s  %-8s  %s  token %d; %s, %s to %s; %s", at(), "ENDED", name, l.Token, ending(l), moment(l.Since), moment(l.Until), l.Info)
	fmt.Fprintln(w.a.env.Stdout, solehold.Printable(line))
}

func (w *watcher) say(s cluster.Seen) {
	if w.a.json {
		printJSON(w.a.env.Stdout, struct {
			Time string `json:"time"`
			seenJSON
		}{at(), answer(s)})
		return
	}
	line := fmt.Sprintf("%s  %-8s  %s  %s", at(), state(s), s.Name, verdict(s))
	if s.Held && s.Info != "" {
		line += "; " + s.Info
	}
	fmt.Fprintln(w.a.env.Stdout, solehold.Printable(line))
}
