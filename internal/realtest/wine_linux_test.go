package realtest_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/testneed"
)

// The tests that are not of one system, and those of Windows, are run on Windows,
// as far as Wine is one: between real processes, all handles, locks, events and
// process times are those of its kernel.
func TestUnderWine(t *testing.T) {
	w := testneed.Wine(t)
	for _, pkg := range []string{"internal/oslock", "internal/procid", "internal/datadir", "."} {
		t.Run(pkg, func(t *testing.T) { elsewhere{command: w.Command, windows: true}.tests(t, pkg, "-tags=") })
	}
}

// top is the module's folder.
const top = "../.."

// passed is a line of a test, not of a part of one.
var passed = regexp.MustCompile(`(?m)^--- PASS: (\w+)`)

// tests runs those of a package on that system.
func (e elsewhere) tests(t *testing.T, pkg, tags string) {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "tests.exe")
	build := exec.Command("go", "test", "-c", tags, "-o", exe, "./"+pkg)
	build.Dir, build.Env = top, e.environment()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := e.command(ctx, exe, "-test.v", "-test.timeout=9m")
	cmd.Dir = filepath.Join(top, pkg) // where the go command would run it
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // Wine's server keeps the output open; the program itself has ended well
	}
	text := strings.ReplaceAll(string(out), "\r", "")
	tests := passed.FindAllString(text, -1)
	t.Logf("%d tests passed", len(tests))
	if err != nil || len(tests) == 0 {
		t.Errorf("%v\n%s", err, text)
	}
}
