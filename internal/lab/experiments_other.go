//go:build !linux

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// All gives the experiments in the order in which they are run and listed. They are about Linux: elsewhere there is none.
func All() []Experiment { return nil }

// Run runs the experiment and judges it. It returns when nothing of it is left: processes, mounts, files.
func (e Experiment) Run(context.Context) Result {
	return e.judge(report{Missing: "needs Linux; get it: run it on Linux"}, 0)
}

// bench is where an experiment runs.
type bench struct{}

func play([]string) int {
	fmt.Fprintln(os.Stderr, "lab:", errors.ErrUnsupported)
	return 1
}
