//go:build linux

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
)

// TestDemo runs `make demo`: a task and a watch start kb in the same instant, and one copy serves.
func TestDemo(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin, "../../cmd/solehold", "../../cmd/solehold-probe", ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	demo := exec.Command("sh", "../../scripts/demo.sh")
	demo.Env = append(os.Environ(), "BIN="+bin, fmt.Sprintf("PORT=%d", testneed.Port(t)), "TMPDIR="+t.TempDir())
	out, err := demo.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "GOOD: 5 rounds, 5 owners") {
		t.Fatalf("%v\n%s", err, out)
	}
}
