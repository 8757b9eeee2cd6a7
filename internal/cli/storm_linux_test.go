package cli_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/diagnose"
)

// soak scales the rounds of the tests by force with SOLEHOLD_SOAK, a percentage:
// 10 by default, which takes seconds.
func soak(full int) int {
	percent, err := strconv.Atoi(os.Getenv("SOLEHOLD_SOAK"))
	if err != nil || percent < 1 {
		percent = 10
	}
	return max(1, full*percent/100)
}

// starter is one of many that try at the same time. Its command stays until stay
// is closed.
type starter struct {
	cmd    *exec.Cmd
	stay   io.WriteCloser
	stderr strings.Builder
}

// begin starts `run`, every second time as another user where that is possible.
func begin(t *testing.T, dir string, i int) *starter {
	t.Helper()
	command := []string{"solehold", "run", "--held-exit", "75", dir, "--", "sh", "-c", `echo $$ >>"$1/owners"; read x`, "sh", dir}
	if os.Geteuid() == 0 && i%2 == 1 {
		command = append([]string{"nobody"}, command...)
	}
	s := &starter{cmd: exec.Command(command[0], command[1:]...)}
	s.cmd.Stderr = &s.stderr
	stay, err := s.cmd.StdinPipe()
	must(t, err)
	s.stay = stay
	must(t, s.cmd.Start())
	return s
}

// Case C47: two managers start one service after boot, as root and as its user.
// Of 50 starters exactly one is owner, and every other leaves with the code that
// was asked for and one line about an owner.
func TestC47StartedAtOnce(t *testing.T) {
	const starters = 50
	named := 0
	for range soak(30) {
		dir := dataDir(t)
		if os.Geteuid() == 0 {
			must(t, os.Chown(dir, 65534, 65534))
		}
		all := make([]*starter, starters)
		for i := range all {
			all[i] = begin(t, dir, i)
		}
		// All but the owner, which stays, end by themselves.
		left := make(chan *starter, starters)
		for _, s := range all {
			go func() {
				s.cmd.Wait()
				left <- s
			}()
		}
		for range starters - 1 {
			s := <-left
			line := s.stderr.String()
			if codeOf(s.cmd) != 75 || strings.Count(line, "\n") != 1 || !strings.Contains(line, dir) {
				t.Errorf("code %d: %q", codeOf(s.cmd), line)
			}
			if strings.Contains(line, "already has its owner: pid ") {
				named++
			}
		}
		for _, s := range all {
			s.stay.Close()
		}
		if s := <-left; codeOf(s.cmd) > 1 || s.stderr.String() != "" { // 1 is that of read
			t.Errorf("the owner: code %d, %q", codeOf(s.cmd), s.stderr.String())
		}
		owners, err := os.ReadFile(filepath.Join(dir, "owners"))
		must(t, err)
		if n := strings.Count(string(owners), "\n"); n != 1 {
			t.Fatalf("%d owners", n)
		}
	}
	t.Logf("%d of %d refusals name the owner", named, soak(30)*(starters-1))
}

// The line of a refusal also says how the owner was started.
func TestC47HowItWasStarted(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	hold(t, dir, "sleep", "300")
	r := program(t, "solehold", "run", dir, "--", "true")
	if !strings.Contains(r.stderr, ", started by ") {
		t.Errorf("%q", r.stderr)
	}
}

// Case C27: the lock file is removed while starters open it. In a loop of starts
// and with somebody who removes it again and again, no two commands overlap.
func TestC27LockFileRemovedInALoop(t *testing.T) {
	dir := dataDir(t)
	ctx, stop := context.WithCancel(t.Context())
	var removing, starting sync.WaitGroup
	var removed, ran atomic.Int64
	removing.Go(func() {
		tick := time.NewTicker(time.Millisecond) // faster than any start can be
		defer tick.Stop()
		for ctx.Err() == nil {
			if os.Remove(lockFile(dir)) == nil {
				removed.Add(1)
			}
			<-tick.C
		}
	})
	alone := `set -C; { : >"$1/alone"; } 2>/dev/null || echo >>"$1/overlaps"; rm -f "$1/alone"`
	for range 8 {
		starting.Go(func() {
			for range soak(80) {
				cmd := exec.Command("solehold", "run", "--held-exit", "75", dir, "--", "sh", "-c", alone, "sh", dir)
				out, _ := cmd.CombinedOutput()
				switch code := codeOf(cmd); code {
				case 0:
					ran.Add(1)
				case 75:
				default:
					t.Errorf("code %d: %s", code, out)
				}
			}
		})
	}
	starting.Wait()
	stop()
	removing.Wait()
	if overlaps, err := os.ReadFile(filepath.Join(dir, "overlaps")); err == nil {
		t.Errorf("%d overlaps", len(overlaps))
	}
	if ran.Load() == 0 || removed.Load() == 0 {
		t.Errorf("%d ran, %d removals: nothing was tried", ran.Load(), removed.Load())
	}
}

// Queries take nothing: beside a loop of status not one start is refused (G6).
func TestG6StatusRefusesNobody(t *testing.T) {
	dir := dataDir(t)
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	var asked atomic.Int64
	asking.Go(func() {
		for ctx.Err() == nil {
			diagnose.Status(ctx, dir, nil)
			asked.Add(1)
		}
	})
	asking.Go(func() {
		for ctx.Err() == nil {
			exec.CommandContext(ctx, "solehold", "status", dir).Run()
			exec.CommandContext(ctx, "solehold", "history", dir).Run()
			asked.Add(1)
		}
	})
	for i := range soak(500) {
		if r := program(t, "solehold", "run", "--held-exit", "75", dir, "--", "true"); r.code != 0 || r.stderr != "" {
			t.Errorf("start %d: %+v", i, r)
		}
	}
	stop()
	asking.Wait()
	if asked.Load() < int64(soak(100)) {
		t.Errorf("asked only %d times", asked.Load())
	}
	if r := ask("history", "--json", "--kind", "acquired", dir); strings.Count(r.stdout, "\n") != soak(500) {
		t.Errorf("%d acquisitions", strings.Count(r.stdout, "\n"))
	}
}
