//go:build !linux

package drill

import (
	"context"
	"errors"
	"fmt"
)

// run needs what only Linux tells about processes.
func run(_ context.Context, c Config, _ scenario) (Report, error) {
	err := fmt.Errorf("%w: drills need Linux (%w)", ErrNotHere, errors.ErrUnsupported)
	return Report{Scenario: c.Scenario, Command: c.Command, Verdict: NotRun, Reasons: []string{err.Error()}}, err
}

// play is one round.
type play struct{}

func scenarios() []scenario { return nil }

// Bystander needs Linux.
func Bystander() int { return 1 }

// Cradle needs Linux.
func Cradle([]string) int { return 1 }
