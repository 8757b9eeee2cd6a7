package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"github.com/solehold/solehold/bench/internal/report"
	"github.com/solehold/solehold/bench/internal/supervisors"
	"golang.org/x/sys/unix"
)

// atOnce is how many supervisors are tried at the same time: they mostly wait.
const atOnce = 3

// supervisors fills the table of supervisors. SIGINT and SIGTERM end it in order,
// so that nothing stays.
func (b *bench) supervisors() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	b.group = &report.Group{}
	rig, kinds, err := b.rig()
	if err != nil {
		b.note("stopped: %v", err)
	}
	if len(b.group.Notes) > 0 {
		b.report.Groups = append(b.report.Groups, b.group)
	}
	if err != nil {
		return
	}
	b.try(ctx, rig, kinds)
	for _, k := range kinds {
		b.cost(k) // their order is that of the table
	}
	b.part("Restarts", func() error { return b.restarts(ctx, rig, kinds) })
	b.part("Idleness", func() error { return b.idleSupervisors(ctx, rig, kinds) })
	b.judgeSupervisors()
	if pids, err := rig.Left(); err != nil || len(pids) > 0 {
		fmt.Fprintln(os.Stderr, "bench: processes are left over:", pids, err)
	}
}

// rig prepares the trials and leaves out what is not installed, with a note.
func (b *bench) rig() (*supervisors.Rig, []supervisors.Kind, error) {
	t, err := b.tools()
	if err != nil {
		return nil, nil, err
	}
	dir, err := b.place("s") // short: there is a Unix socket below it
	if err != nil {
		return nil, nil, err
	}
	times := supervisors.Times{Orphan: 1500 * time.Millisecond, Settle: 4 * time.Second, Stop: 15 * time.Second, Doubles: 3}
	if b.quick {
		times.Settle, times.Stop, times.Doubles = 2*time.Second, 5*time.Second, 1
	}
	rig, err := supervisors.NewRig(dir, times)
	kinds := slices.DeleteFunc(supervisors.Kinds(t.solehold), func(k supervisors.Kind) bool {
		missing := k.Missing()
		if missing != "" && !k.Extra {
			b.note("%s is left out: %s", k.Name, missing)
		}
		return missing != ""
	})
	return rig, kinds, err
}

// choose returns the kinds that are fit and asked for.
func (b *bench) choose(kinds []supervisors.Kind, prefix string, fit func(supervisors.Kind) bool) (chosen []supervisors.Kind) {
	for _, k := range kinds {
		if fit(k) && b.wants(prefix+k.Name) {
			chosen = append(chosen, k)
		}
	}
	return chosen
}

// try does all that the table shows, to a few at the same time.
func (b *bench) try(ctx context.Context, rig *supervisors.Rig, kinds []supervisors.Kind) {
	kinds = b.choose(kinds, "supervise/", func(k supervisors.Kind) bool { return !k.Extra })
	b.report.Supervisors = make([]report.Supervisor, len(kinds))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, k := range kinds {
		slots <- struct{}{}
		all.Go(func() {
			b.report.Supervisors[i] = rig.Try(ctx, k)
			<-slots
		})
	}
	all.Wait()
}

func (b *bench) restarts(ctx context.Context, rig *supervisors.Rig, kinds []supervisors.Kind) error {
	kinds = b.choose(kinds, "restart/", func(k supervisors.Kind) bool { return k.Restarts })
	rounds := 10
	if b.quick {
		rounds = 2
	}
	all, err := rig.Restarts(ctx, kinds, rounds, 2*time.Second)
	for i, series := range all {
		figure := report.FigureOf(series, true)
		b.cost(kinds[i]).Restart = &figure
	}
	return err
}

func (b *bench) idleSupervisors(ctx context.Context, rig *supervisors.Rig, kinds []supervisors.Kind) error {
	kinds = b.choose(kinds, "resident/", func(k supervisors.Kind) bool { return true })
	settle, length := 25*time.Second, 40*time.Second // two probes are made before
	if b.quick {
		settle, length = 12*time.Second, 10*time.Second
	}
	for _, wave := range waves(kinds) {
		all, err := rig.Idle(ctx, wave, settle, length)
		for i := range all {
			b.cost(wave[i]).Idle = &all[i]
		}
		if err != nil {
			return err
		}
	}
	if len(kinds) > 0 {
		b.note("%v long; with http the service is asked each 10 s; monit looks at its processes each 10 s in both cases", length)
	}
	return nil
}

// waves splits kinds so that no two of the same program run at the same time: they
// would share the memory of their code.
func waves(kinds []supervisors.Kind) (all [][]supervisors.Kind) {
	runs := map[string]int{}
	for _, k := range kinds {
		n := runs[k.Program]
		runs[k.Program]++
		if n == len(all) {
			all = append(all, nil)
		}
		all[n] = append(all[n], k)
	}
	return all
}

// cost is the line of a kind, made where it is missing.
func (b *bench) cost(k supervisors.Kind) *report.Cost {
	for i := range b.report.Costs {
		if c := &b.report.Costs[i]; c.Name == k.Name {
			return c
		}
	}
	b.report.Costs = append(b.report.Costs, report.Cost{Name: k.Name, Pause: k.Pause})
	return &b.report.Costs[len(b.report.Costs)-1]
}

// judgeSupervisors says whether ours costs what the project wants.
func (b *bench) judgeSupervisors() {
	const whole = "solehold run"
	for _, c := range b.report.Costs {
		if c.Name == whole && c.Idle != nil {
			b.report.Targets = append(b.report.Targets,
				report.Target{Text: "run has <= 4 MiB of private memory", Limit: 4 * 1024, Unit: "KiB", Figure: &c.Idle.Private},
				report.Target{Text: "run without probes wakes up 0 times a second", Unit: "/s", Figure: &c.Idle.Wakeups})
		}
	}
}
