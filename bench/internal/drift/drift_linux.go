package drift

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/solehold/solehold/bench/internal/helper"
	"github.com/solehold/solehold/bench/internal/peers"
	"github.com/solehold/solehold/bench/internal/strace"
)

// Comparison is one operation of solehold beside its floor.
type Comparison struct {
	// Name is the operation.
	Name string
	// Calls are solehold's system calls in steady state.
	Calls []string
	// Diff is empty when the floor makes the same, else the lines that only
	// solehold ("-") or only the floor ("+") has.
	Diff string
}

// turns is how often an operation is repeated in a trace: the first ones differ.
const turns = "12"

// Compare traces both operations in dir, which it may fill. It needs strace and
// the right to use it.
func Compare(dir string) ([]Comparison, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	cycle, err := compare("acquire and release", dir, helper.LoopCycle, helper.LoopCycleFloor)
	if err != nil {
		return nil, err
	}
	holder, err := helper.Start(peers.Solehold, dir)
	if err != nil {
		return nil, err
	}
	defer holder.Close()
	if _, err := holder.Do("try"); err != nil {
		return nil, err
	}
	refused, err := compare("refused try", dir, helper.LoopRefused, helper.LoopRefusedFloor)
	return []Comparison{cycle, refused}, err
}

func compare(name, dir, ours, bare string) (Comparison, error) {
	want, err := calls(dir, ours)
	if err != nil {
		return Comparison{}, err
	}
	got, err := calls(dir, bare)
	return Comparison{name, want, strace.Diff(want, got)}, err
}

// calls are the system calls of one turn of a helper's loop.
func calls(dir, loop string) ([]string, error) {
	f, err := os.CreateTemp("", "solehold-bench-*.trace")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	traced, err := helper.Command("loop", loop, dir, turns)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("strace", append([]string{"-f", "-o", f.Name()}, traced.Args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("strace of %s: %w: %s", loop, err, strings.TrimSpace(string(out)))
	}
	trace, err := os.ReadFile(f.Name())
	if err != nil {
		return nil, err
	}
	return strace.Cycle(string(trace), dir)
}
