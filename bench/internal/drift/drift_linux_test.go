package drift_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/solehold/solehold/bench/internal/drift"
	"github.com/solehold/solehold/bench/internal/helper"
	"github.com/solehold/solehold/internal/testneed"
)

// TestMain is also the helper that the traces look at.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != helper.Word {
		os.Exit(m.Run())
	}
	if err := helper.Main(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestFloorHasTheSameCalls fails when solehold makes other system calls than the
// floor it is measured against; bring internal/floor up to date then.
func TestFloorHasTheSameCalls(t *testing.T) {
	strace := testneed.Program(t, "strace", "apt-get install strace")
	testneed.Feature(t, exec.Command(strace, "-o", "/dev/null", "true").Run() == nil, "the right to trace", "run outside a sandbox that forbids ptrace")
	all, err := drift.Compare(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Diff != "" {
			t.Errorf("%s: - is solehold, + is the floor:\n%s", c.Name, c.Diff)
		}
		if len(c.Calls) < 10 {
			t.Errorf("%s: only %d calls in the trace", c.Name, len(c.Calls))
		}
	}
}
