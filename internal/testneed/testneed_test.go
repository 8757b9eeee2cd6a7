package testneed_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
)

// recorder is a test that notes how it was ended.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Skipf(f string, a ...any)  { r.skipped = fmt.Sprintf(f, a...) }
func (r *recorder) Fatalf(f string, a ...any) { r.failed = fmt.Sprintf(f, a...) }

// after gives how need ended a test.
func after(need func(testing.TB)) (skipped, failed string) {
	r := &recorder{}
	need(r)
	return r.skipped, r.failed
}

func missing(t testing.TB) { testneed.Feature(t, false, "a tape drive", "buy one") }

const line = "needs a tape drive; get it: buy one"

func TestMissingSkips(t *testing.T) {
	t.Setenv("SOLEHOLD_NO_SKIP", "")
	if skipped, failed := after(missing); skipped != line || failed != "" {
		t.Errorf("skipped %q, failed %q", skipped, failed)
	}
}

func TestMissingFailsWhereNothingMayBeSkipped(t *testing.T) {
	t.Setenv("SOLEHOLD_NO_SKIP", "1")
	if skipped, failed := after(missing); skipped != "" || failed != line {
		t.Errorf("skipped %q, failed %q", skipped, failed)
	}
}

func TestPresentDoesNothing(t *testing.T) {
	skipped, failed := after(func(t testing.TB) { testneed.Feature(t, true, "a tape drive", "buy one") })
	if skipped+failed != "" {
		t.Errorf("skipped %q, failed %q", skipped, failed)
	}
}

// TestMissingEndsTest has a real test, which must not go on after the need.
func TestMissingEndsTest(t *testing.T) {
	t.Setenv("SOLEHOLD_NO_SKIP", "")
	var inner *testing.T
	wentOn := false
	t.Run("inner", func(t *testing.T) {
		inner = t
		missing(t)
		wentOn = true
	})
	if !inner.Skipped() || wentOn {
		t.Errorf("skipped %v, went on %v", inner.Skipped(), wentOn)
	}
}

func TestRoot(t *testing.T) {
	t.Setenv("SOLEHOLD_NO_SKIP", "")
	skipped, _ := after(testneed.Root)
	if root := os.Geteuid() == 0; root != (skipped == "") {
		t.Errorf("root %v, skipped %q", root, skipped)
	}
}

func TestLinux(t *testing.T) {
	t.Setenv("SOLEHOLD_NO_SKIP", "")
	skipped, _ := after(testneed.Linux)
	if linux := runtime.GOOS == "linux"; linux != (skipped == "") {
		t.Errorf("linux %v, skipped %q", linux, skipped)
	}
}

func TestProgramOnPath(t *testing.T) {
	testneed.Linux(t)
	want := filepath.Join(t.TempDir(), "tape")
	if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(want))
	if got := testneed.Program(t, "tape", "it is there"); got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestProgramOffPath looks for the system program that every Linux has.
func TestProgramOffPath(t *testing.T) {
	testneed.Linux(t)
	t.Setenv("PATH", "")
	if got := testneed.Program(t, "ldconfig", "install the C library's programs"); !filepath.IsAbs(got) {
		t.Errorf("found %q", got)
	}
}

func TestProgramMissing(t *testing.T) {
	t.Setenv("SOLEHOLD_NO_SKIP", "")
	skipped, _ := after(func(t testing.TB) { testneed.Program(t, "tape-of-no-kind", "buy one") })
	if want := "needs tape-of-no-kind; get it: buy one"; skipped != want {
		t.Errorf("skipped %q, want %q", skipped, want)
	}
}
