//go:build !solehold_portable

package supervise_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// restartedOnce waits for the second life and checks that there were no more,
// and how long the first was silent before it was found out.
func (v *served) restartedOnce(since time.Time) string {
	t := v.site.t
	t.Helper()
	v.healthy(2)
	found := v.await(journal.Health, 1)
	// two failures, one per second, each within a second; the rest is the machine's load
	if took := found.Time.Sub(since); took > 15*time.Second {
		t.Errorf("found after %s", took)
	} else {
		t.Logf("found after %s, serving again after %s", took, v.of(journal.Ready)[1].Time.Sub(since))
	}
	if n := len(v.of(journal.ChildStarted)); n != 2 {
		t.Errorf("%d lives, want 2", n)
	}
	incident := v.await(journal.Incident, 1).Detail
	v.signal(syscall.SIGTERM)
	v.wait()
	v.sound()
	v.free()
	return incident
}

func TestHangIsFoundExplainedAndEnded(t *testing.T) {
	t.Parallel()
	t.Run("stopped", func(t *testing.T) {
		t.Parallel()
		v := newSite(t).serve(nil)
		v.healthy(1)
		begun := time.Now()
		must(t, syscall.Kill(leader(v.running), syscall.SIGSTOP))
		if incident := v.restartedOnce(begun); !strings.Contains(incident, "stopped") {
			t.Errorf("incident: %s", incident)
		}
	})
	t.Run("lock of another process", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		file := s.path("held")
		holder := s.beside().start(nil, self(t), "keeplock", file)
		holder.out.await("locked <nil>", 1)
		v := s.serve(nil)
		v.healthy(1)
		begun := time.Now()
		v.is("lock " + file)
		v.await(journal.Forced, 1)
		v.is("ok")
		incident := v.restartedOnce(begun)
		if !strings.Contains(incident, "held") || !strings.Contains(incident, "pid "+itoa(holder.pid())) {
			t.Errorf("incident: %s", incident)
		}
	})
	t.Run("deadlock", func(t *testing.T) {
		t.Parallel()
		v := newSite(t).serve(nil, "--unhealthy-signal", "QUIT")
		v.healthy(1)
		begun := time.Now()
		v.is("deadlock")
		v.await(journal.Forced, 1)
		v.is("ok")
		v.await(journal.Incident, 2) // with what it printed
		incident := v.restartedOnce(begun)
		id, _, _ := strings.Cut(incident, ":")
		text, err := os.ReadFile(filepath.Join(v.dir, ".solehold", "incidents", id, "last-output.txt"))
		if err != nil || !strings.Contains(string(text), "supervise_test.deadlock") {
			t.Errorf("no stack of the deadlock in the incident: %v\n%s", err, text)
		}
		if second := v.of(journal.Incident)[1].Detail; !strings.Contains(second, "oroutine") {
			t.Errorf("what the stacks say: %s", second)
		}
	})
}

// A service that answers badly is as good as one that does not, and a healthy one
// next to it is left alone: this is the twin that must not be restarted.
func TestBadAnswersAreFoundAndGoodOnesAreNot(t *testing.T) {
	t.Parallel()
	for mode, restart := range map[string]bool{"fail": true, "garbage": true, "hang": true, "redirect http://192.0.2.1/": false, "redirect /elsewhere": false, "ok": false} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			v := newSite(t).serve(nil)
			v.healthy(1)
			v.is(mode)
			if restart {
				v.await(journal.Forced, 1) // not earlier: a service that has recovered meanwhile stays
				v.is("ok")
				v.healthy(2)
			} else {
				v.rounds(4)
			}
			if n := len(v.of(journal.ChildStarted)); (n > 1) != restart {
				t.Errorf("%d lives\nstderr: %s", n, v.errs.text())
			}
			v.signal(syscall.SIGTERM)
			v.wait()
			v.sound()
		})
	}
}

// rounds waits for so many more answers, which the state directory tells.
func (v *served) rounds(n int) {
	v.site.t.Helper()
	pulse := filepath.Join(v.dir, ".solehold", journal.PulseName)
	last, _ := os.ReadFile(pulse)
	for range n {
		testneed.Until(v.site.t, "another answer", func() bool {
			now, _ := os.ReadFile(pulse)
			changed := string(now) != string(last)
			last = now
			return changed
		})
	}
}

// Nothing is done to a service that is only reported.
func TestReportStopsNothing(t *testing.T) {
	t.Parallel()
	v := newSite(t).serve(nil, "--on-unhealthy", "report")
	v.healthy(1)
	v.is("fail")
	v.await(journal.Incident, 1)
	v.rounds(3)
	v.is("ok")
	v.errs.await("answers again", 1)
	if len(v.of(journal.ChildStarted)) != 1 || len(v.of(journal.Forced)) != 0 || len(v.of(journal.Incident)) != 1 {
		t.Errorf("history: %s", v.history())
	}
	v.signal(syscall.SIGTERM)
	v.wait()
}

// A wrapper that did not run itself knows nothing of the time between: the service
// that stood still with it, or answered all the time, is not killed for that.
func TestStoppedWrapperKillsNobody(t *testing.T) {
	t.Parallel()
	v := newSite(t).serve(nil)
	v.healthy(1)
	child := leader(v.running)
	// In the middle of a question, which then has no answer for longer than all limits.
	v.is("hang")
	v.rounds(1)
	v.signal(syscall.SIGSTOP)
	unix.Poll(nil, 6000) // what nothing can be waited for: that nothing happens
	v.is("ok")
	v.signal(syscall.SIGCONT)
	v.rounds(4)
	if now := leader(v.running); now != child {
		t.Errorf("pid %d was replaced by %d\nstderr: %s", child, now, v.errs.text())
	}
	v.signal(syscall.SIGTERM)
	v.wait()
	v.sound()
}

// A service that is slow to stop is waited for, and everything of its tree.
func TestSlowStopDelaysTheRestart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	probe := s.script("probe", `test ! -e `+s.path("sick")+"\n")
	r := s.sh(nil, `exec 9>"$DIR/alone"; flock -n 9 || echo OVERLAP
		trap 'echo slow; rm -f `+s.path("sick")+`; sleep 2; echo end; exit' TERM
		setsid -f sh -c 'trap "" TERM; echo up; while :; do sleep 0.05; done'
		echo up; while :; do sleep 0.02; done`,
		"--health-exec", probe, "--health-period", "1s", "--health-failure-threshold", "1", "--min-failing", "0s", "--restart-delay", "0s", "--grace", "3s")
	r.out.await("up", 2)
	must(t, os.WriteFile(s.path("sick"), nil, 0o600))
	text := r.out.await("up", 4)
	if !regexp.MustCompile(`(?s)slow\n.*end\n.*up\n`).MatchString(text) || strings.Contains(text, "OVERLAP") {
		t.Errorf("output: %s", text)
	}
	r.signal(syscall.SIGTERM)
	r.wait()
	for _, fault := range wrong(s.events()) {
		t.Error(fault)
	}
	s.free()
}

// The clocks that are judged by start anywhere, and nothing asks for the time of
// day: in a time namespace, years off, a service is judged as everywhere.
func TestClocksThatAreYearsOff(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	unshare := testneed.Program(t, "unshare", "apt-get install util-linux")
	s := newSite(t)
	v := s.serve([]how{through(`exec ` + unshare + ` --time --boottime 90000000 --monotonic 90000000 --kill-child "$@"`)})
	v.healthy(1)
	v.is("fail")
	v.await(journal.Forced, 1)
	v.is("ok")
	v.healthy(2)
	v.rounds(2)
	if n := len(v.of(journal.ChildStarted)); n != 2 {
		t.Errorf("%d lives", n)
	}
	v.sound()
}
