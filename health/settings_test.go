package health_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/solehold/solehold/health"
)

func TestDefaultsAreThoseOfKubernetes(t *testing.T) {
	s := health.DefaultSettings()
	want := health.Settings{InitialDelay: 0, Period: 10 * time.Second, Timeout: time.Second, FailureThreshold: 3, SuccessThreshold: 1}
	if s != want {
		t.Errorf("%+v", s)
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	if got := s.FailsAfter(); got != 31*time.Second {
		t.Errorf("fails after %s", got)
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	for text, change := range map[string]func(*health.Settings){
		"initial delay -1s: must not be negative":     func(s *health.Settings) { s.InitialDelay = -time.Second },
		"period 999ms: must be at least 1s":           func(s *health.Settings) { s.Period = 999 * time.Millisecond },
		"timeout 0s: must be positive":                func(s *health.Settings) { s.Timeout = 0 },
		"failure threshold 0: must be at least 1":     func(s *health.Settings) { s.FailureThreshold = 0 },
		"success threshold 2: must be 1 for health":   func(s *health.Settings) { s.SuccessThreshold = 2 },
		"success threshold 0: must be 1 for health":   func(s *health.Settings) { s.SuccessThreshold = 0 },
		"failure threshold -3: must be at least 1":    func(s *health.Settings) { s.FailureThreshold = -3 },
		"timeout -1ns: must be positive":              func(s *health.Settings) { s.Timeout = -1 },
		"period 0s: must be at least 1s\ntimeout 0s:": func(s *health.Settings) { s.Period, s.Timeout = 0, 0 },
	} {
		s := health.DefaultSettings()
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
	if err := (health.Settings{}).Validate(); err == nil {
		t.Error("zero settings are valid")
	}
}

// fake is a probe that takes a time. Where stubborn it does not mind its deadline.
type fake struct {
	takes    time.Duration
	verdict  health.Verdict
	stubborn bool
}

func (f fake) String() string { return "fake" }

func (f fake) Check(ctx context.Context) health.Result {
	start, done := time.Now(), ctx.Done()
	if f.stubborn {
		done = nil
	}
	v := f.verdict
	select {
	case <-time.After(f.takes):
	case <-done:
		v = health.Fail
	}
	return health.Result{Verdict: v, Detail: "fake", Took: time.Since(start)}
}

func TestSettingsCheck(t *testing.T) {
	const s = time.Second
	for name, x := range map[string]struct {
		probe fake
		want  health.Verdict
		took  time.Duration
	}{
		"quick":                 {fake{takes: s / 10, verdict: health.OK}, health.OK, s / 10},
		"half":                  {fake{takes: s / 2, verdict: health.OK}, health.OK, s / 2},
		"slow":                  {fake{takes: s/2 + 1, verdict: health.OK}, health.Slow, s/2 + 1},
		"late":                  {fake{takes: 5 * s, verdict: health.OK}, health.Fail, s},
		"wrong":                 {fake{takes: s / 10, verdict: health.Fail}, health.Fail, s / 10},
		"wrong slowly":          {fake{takes: s * 9 / 10, verdict: health.Fail}, health.Fail, s * 9 / 10},
		"unknown":               {fake{takes: s / 10}, health.Unknown, s / 10},
		"a little late":         {fake{takes: s * 3 / 2, verdict: health.Fail, stubborn: true}, health.Fail, s * 3 / 2},
		"the prober was asleep": {fake{takes: 40 * s, verdict: health.Fail, stubborn: true}, health.Unknown, 40 * s},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := health.DefaultSettings().Check(t.Context(), x.probe)
				if r.Verdict != x.want || r.Took != x.took {
					t.Errorf("%v in %s, want %v in %s", r.Verdict, r.Took, x.want, x.took)
				}
			})
		})
	}
}

func TestStarvedProberIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := health.DefaultSettings().Check(t.Context(), fake{takes: 40 * time.Second, verdict: health.Fail, stubborn: true})
		want(t, r, health.Unknown, "the prober was 39s late: fake")
	})
}

// TestStuckInKernel has a system call that never comes back, and then does.
func TestStuckInKernel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b health.Bounded
		free, start := make(chan struct{}), time.Now()
		ask := func(do func()) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return b.Do(ctx, do)
		}
		if err := ask(func() { <-free }); err != health.ErrBusy {
			t.Errorf("stuck: %v", err)
		}
		if took := time.Since(start); took != 1300*time.Millisecond {
			t.Errorf("stuck: took %s", took)
		}
		if err := ask(func() { t.Error("asked again") }); err != health.ErrBusy {
			t.Errorf("while stuck: %v", err)
		}
		close(free)
		synctest.Wait()
		asked := false
		if err := ask(func() { asked = true }); err != nil || !asked {
			t.Errorf("free again: %v, asked %v", err, asked)
		}
	})
}
