//go:build !solehold_portable

package supervise_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
)

const gaveUp = 69 // the exit code, as the command line promises it

// A crash loop ends, and says so last.
func TestCrashLoopGivesUp(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	loop := []string{"--restart", "on-failure", "--restart-max", "2", "--restart-delay", "0s"}
	r := s.sh(nil, "echo life; exit 3", loop...)
	r.exits(gaveUp)
	lines := strings.Split(strings.TrimSpace(r.errs.all()), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, "giving up after 3 failures in a row: the command ended (exit code 3)") {
		t.Errorf("last line: %s", last)
	}
	if n := strings.Count(r.out.all(), "life"); n != 3 {
		t.Errorf("%d lives, want 3", n)
	}
	for _, fault := range wrong(s.events()) {
		t.Error(fault)
	}
	s.free()

	// That is remembered: nothing starts until a person says otherwise.
	r = s.sh(nil, "echo life", loop...)
	r.exits(gaveUp)
	if r.out.all() != "" || !strings.Contains(r.errs.all(), "--retry") {
		t.Errorf("stdout: %s\nstderr: %s", r.out.all(), r.errs.all())
	}
	r = s.sh(nil, "echo life", append(loop, "--retry")...)
	r.exits(0)
	r.out.await("life", 1)
	s.sh(nil, "exit 4", "--restart", "no").exits(4)
}

// The delay is served by the next wrapper too, if the first is killed in it.
func TestBackoffSurvivesTheWrapper(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	loop := []string{"--restart", "on-failure", "--restart-delay", "300s"}
	r := s.sh(nil, "echo life; exit 3", loop...)
	r.errs.await("starting again in 5m", 1)
	r.kill()
	r = s.sh(nil, "echo life; exit 3", loop...)
	text := r.errs.await("starting again in ", 1)
	if !strings.Contains(text, "earlier runs failed") || strings.Contains(r.out.text(), "life") {
		t.Errorf("stderr: %s\nstdout: %s", text, r.out.text())
	}
	if st := s.status(); st.State != solehold.Held {
		t.Errorf("a directory between two lives is %s", st.State)
	}
	// It ends at once when it is asked to.
	r.signal(syscall.SIGTERM)
	r.wait()
	s.free()
	r = s.sh(nil, "echo life; exit 3", append(loop, "--retry")...)
	r.errs.await("starting again in", 1)
	r.out.await("life", 1)
	r.signal(syscall.SIGTERM)
	r.wait()

	// A file that is broken says nothing.
	file := filepath.Join(s.dir, ".solehold", "failures.json")
	page, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, append([]byte("torn"), page[4:]...), 0o600))
	s.sh(nil, "exit 0", loop...).exits(0)
}

// Each way to restart, and the ends that it is for.
func TestRestartIsForTheEndsThatItNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		how, end string
		code     int
		lives    int
	}{
		"no, failure":         {"no", "exit 3", 3, 1},
		"no, clean":           {"no", "exit 0", 0, 1},
		"on-failure, clean":   {"on-failure", "exit 0", 0, 1},
		"on-failure, killed":  {"on-failure", "kill -KILL $$", gaveUp, 2},
		"on-failure, failure": {"on-failure", "exit 3", gaveUp, 2},
		"always, clean":       {"always", "exit 0", gaveUp, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.sh(nil, c.end, "--restart", c.how, "--restart-max", "1", "--restart-delay", "0s").exits(c.code)
			if n := len(s.of(journal.ChildStarted)); n != c.lives {
				t.Errorf("%d lives, want %d", n, c.lives)
			}
			s.free()
		})
	}
}

// Who asks for the end gets it, also of a command that is always restarted.
func TestStopIsNoFailure(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, "trap 'exit 5' TERM; echo up; while :; do sleep 0.02; done", "--restart", "always", "--restart-delay", "0s")
	r.out.await("up", 1)
	must(t, syscall.Kill(leader(r), syscall.SIGKILL))
	r.out.await("up", 2)
	r.signal(syscall.SIGTERM)
	r.exits(5)
	if n := len(s.of(journal.ChildStarted)); n != 2 {
		t.Errorf("%d lives", n)
	}
	s.free()
}

// What a life has brought is gone before the next begins: processes of other
// sessions and groups that fork as fast as they can, and a daemon, which is named.
func TestNothingOfALifeIsLeftForTheNext(t *testing.T) {
	places(t, func(t *testing.T, place how) {
		s := newSite(t)
		s.script("bomb", `trap "" TERM; i=0
			while [ $i -lt 10 ]; do
				setsid -f sh -c 'trap "" TERM; exec sleep 1000'
				(setsid sh -c 'trap "" TERM; sleep 1000 & exec sleep 1000' & exit) & i=$((i+1))
			done; echo bombed; exec sleep 1000`)
		r := s.sh([]how{place}, `
			if [ -e second ]; then echo second; exec sleep 30; fi
			touch second; ./bomb & ./bomb &
			setsid -f sh -c 'trap "" TERM; echo daemon; exec sleep 1007'
			exec sleep 1009`,
			"--restart", "always", "--restart-delay", "0s", "--grace", "300ms")
		r.out.await("bombed", 2)
		must(t, syscall.Kill(leader(r), syscall.SIGKILL))
		r.out.await("second", 1)
		for _, p := range marked(s.mark) {
			if strings.HasPrefix(p.command, "sleep 100") {
				t.Errorf("%s of the first life lives in the second", p)
			}
		}
		if end := s.await(journal.ChildExited, 1); !strings.Contains(end.Detail, "left behind and stopped") {
			t.Errorf("the end: %s", end.Detail)
		}
		r.signal(syscall.SIGTERM)
		r.wait()
		for _, fault := range wrong(s.events()) {
			t.Error(fault)
		}
		s.free()
	})
}

// How long a directory is without its service. It is told and hardly judged: it
// is what the machine makes of it.
func TestRestartLatency(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.run(nil, "--restart", "always", "--restart-max", "0", "--restart-delay", "0s", "--", "sleep", "1000")
	best := time.Hour
	for i := range 10 {
		start := s.await(journal.ChildStarted, i+1)
		begun := time.Now()
		must(t, syscall.Kill(start.PID, syscall.SIGKILL))
		next := s.await(journal.ChildStarted, i+2)
		best = min(best, next.Time.Sub(begun))
	}
	t.Logf("from the end of a command to the start of the next: %s at best", best)
	if best > 5*time.Second {
		t.Error("that is too long")
	}
	r.signal(syscall.SIGTERM)
	r.wait()
}
