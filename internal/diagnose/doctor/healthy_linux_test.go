package doctor_test

import (
	"path/filepath"
	"testing"

	"github.com/solehold/solehold/internal/diagnose/doctor"
)

// What runs as it should is not told as anything worse than a queue, on the whole
// host and as often as it is looked at.
func TestHealthyHost(t *testing.T) {
	t.Parallel()
	dir := place(t)
	lf := filepath.Join(dir, "lf")
	guarded := place(t)
	healthy := map[int]bool{}
	for _, steps := range [][]string{
		{"acquire " + guarded, "write " + filepath.Join(guarded, "data")},
		{"flock " + lf},
		{"posix-share " + filepath.Join(dir, "shared")},
		{"posix-share " + filepath.Join(dir, "shared")},
		{"ofd " + filepath.Join(dir, "ofd")},
		{"flock-dir " + place(t)},
		{"memfd"},
	} {
		healthy[acting(t, steps...).pid()] = true
	}
	healthy[starting(t, nil, "flock-wait "+lf).cmd.Process.Pid] = true
	waiting(t, 1, dir)
	for range 5 {
		r := doctor.Examine(t.Context(), doctor.Options{})
		for _, f := range r.Findings {
			for _, p := range f.Holders {
				if healthy[p.PID] && f.ID != "SH006" {
					t.Errorf("%+v", f)
				}
			}
		}
		if r.Seen.Processes < len(healthy) || r.Seen.Locks < 5 || r.Seen.Waiters < 1 || r.Seen.Descriptors == 0 {
			t.Errorf("%+v", r.Seen)
		}
	}
}

// A look ends in time, also where it is given hardly any.
func TestHardlyAnyTime(t *testing.T) {
	t.Parallel()
	r := doctor.Examine(t.Context(), doctor.Options{Timeout: 1, Paths: []string{place(t)}})
	notRun := false
	for _, g := range r.Gaps {
		notRun = notRun || g.NotRun
	}
	if !notRun {
		t.Errorf("%+v", r)
	}
	for _, s := range r.Paths {
		if s.State == "not held" || s.State == "FREE" {
			t.Errorf("%+v", s)
		}
	}
}
