package realtest_test

import (
	"bytes"
	"context"
	"errors"
	"os"
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
		t.Run(pkg, func(t *testing.T) { runUnderWine(t, w, pkg) })
	}
}

// top is the module's folder.
const top = "../.."

// passed is a line of a test, not of a part of one.
var passed = regexp.MustCompile(`(?m)^--- PASS: (\w+)`)

func runUnderWine(t *testing.T, w *testneed.Windows, pkg string) {
	exe := filepath.Join(t.TempDir(), "tests.exe")
	build := exec.Command("go", "test", "-c", "-o", exe, "./"+pkg)
	build.Dir = top
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var out bytes.Buffer
	cmd := w.Command(ctx, exe, "-test.v", "-test.timeout=9m")
	cmd.Dir = filepath.Join(top, pkg) // where the go command would run it
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // Wine's server keeps the output open; the program itself has ended well
	}
	text := strings.ReplaceAll(out.String(), "\r", "")
	tests := passed.FindAllString(text, -1)
	t.Logf("%d tests passed", len(tests))
	if err != nil || len(tests) == 0 {
		t.Errorf("%v\n%s", err, text)
	}
}
