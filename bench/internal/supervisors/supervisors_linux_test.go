package supervisors_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/solehold/solehold/bench/internal/report"
	"github.com/solehold/solehold/bench/internal/supervisors"
	"github.com/solehold/solehold/internal/testneed"
)

// loop is a supervisor that starts its service again at once.
var loop = []string{"sh", "-c", `trap 'kill $!; exit' TERM; while :; do "$@" & wait; done`, "sh"}

func rig(t *testing.T) *supervisors.Rig {
	t.Helper()
	testneed.Program(t, "cc", "apt-get install gcc libc6-dev")
	r, err := supervisors.NewRig(t.TempDir(), supervisors.Times{Orphan: 300 * time.Millisecond, Settle: 300 * time.Millisecond, Stop: time.Second, Doubles: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if pids, err := r.Left(); err != nil || len(pids) > 0 {
			t.Errorf("left over: %v, %v", pids, err)
		}
	})
	return r
}

// kind returns one of the table.
func kind(t *testing.T, name string) supervisors.Kind {
	t.Helper()
	all := supervisors.Kinds("solehold")
	i := slices.IndexFunc(all, func(k supervisors.Kind) bool { return k.Name == name })
	if i < 0 {
		t.Fatalf("no kind is called %s", name)
	}
	testneed.Program(t, all[i].Program, "apt-get install "+all[i].Package)
	return all[i]
}

// TestTry: util-linux' flock gives both answers. With the lock's descriptor in the
// service a second start is refused over an orphan; without it there are two.
func TestTry(t *testing.T) {
	for name, live := range map[string]int{"flock -n": 1, "flock -n -o": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := rig(t).Try(t.Context(), kind(t, name))
			if got.Error != "" {
				t.Fatal(got.Error)
			}
			if !got.Lives || got.Relaunched != live || !got.DeafLives || got.DeafRelaunched != live {
				t.Errorf("after SIGKILL, want %d: %+v", live, got)
			}
			if !slices.Equal(got.Doubles, []int{1}) {
				t.Errorf("double start: %v", got.Doubles)
			}
			if (got.Left != report.Left{Service: 1, Ignorer: 1, Escapee: 1}) || got.Stop.Ended || got.Frozen.Ended {
				t.Errorf("flock passes no signal on, so nothing ends: %+v", got)
			}
		})
	}
}

// TestTryWithoutLock: a supervisor that guards nothing is seen to have two.
func TestTryWithoutLock(t *testing.T) {
	t.Parallel()
	got := rig(t).Try(t.Context(), supervisors.Wrapper("loop", loop...))
	if got.Error != "" {
		t.Fatal(got.Error)
	}
	if !got.Lives || got.Relaunched != 2 || !slices.Equal(got.Doubles, []int{2}) {
		t.Errorf("copies: %+v", got)
	}
	if (got.Left != report.Left{Ignorer: 1, Escapee: 1}) || !got.Stop.Ended || got.Frozen.Ended {
		t.Errorf("stop: %+v", got)
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	r, kinds := rig(t), []supervisors.Kind{supervisors.Wrapper("loop", loop...)}
	restarts, err := r.Restarts(t.Context(), kinds, 3, 0)
	if err != nil || len(restarts) != 1 || len(restarts[0].Samples) != 3 || slices.Min(restarts[0].Samples) <= 0 {
		t.Errorf("restarts: %v, %v", restarts, err)
	}
	idle, err := r.Idle(t.Context(), kinds, 0, 300*time.Millisecond)
	if err != nil || len(idle) != 1 || idle[0].Private <= 0 {
		t.Errorf("idle: %+v, %v", idle, err)
	}
}

// TestErrors: what cannot be tried is said, with what was printed.
func TestErrors(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := rig(t).Try(ctx, supervisors.Wrapper("loop", loop...)); got.Error == "" {
		t.Errorf("cancelled: %+v", got)
	}
	if got := rig(t).Try(t.Context(), supervisors.Wrapper("none", "/nowhere/none")); got.Error == "" {
		t.Errorf("no such program: %+v", got)
	}
	none := supervisors.Kind{Program: "solehold-none", Package: "none"}
	if got, want := none.Missing(), "there is no solehold-none; get it: apt-get install none"; got != want {
		t.Errorf("missing: %s", got)
	}
	if got := kind(t, "flock -n").Missing(); got != "" {
		t.Errorf("missing: %s", got)
	}
}
