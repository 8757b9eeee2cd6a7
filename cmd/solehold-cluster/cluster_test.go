package main_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The agent is started by a run and by nobody else: by hand it says so, and touches nothing.
func TestByHand(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "solehold-cluster")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, args := range [][]string{nil, {"agent"}, {"agent", "more"}, {"watch"}} {
		out, err := exec.Command(program, args...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 64 || !strings.Contains(string(out), "solehold run --cluster") {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
}
