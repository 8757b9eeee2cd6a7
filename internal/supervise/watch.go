package supervise

import (
	"context"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/policy"
)

// Watch is one `solehold watch`: it starts what is down and saves the evidence of
// what hangs. It holds nothing itself.
type Watch struct {
	// Config has the directory, the probes, the policy, the stop signal and the
	// grace period. What else it says is for a run.
	Config
	// Once ends at the first decision.
	Once bool
	// Unit is a systemd unit that is started and stopped in place of a command.
	Unit string
	// Launch is how this program is called to run the command: run, its flags, the
	// directory, -- and the command.
	Launch []string
	// LogFile takes the output of what is launched; empty for nowhere.
	LogFile string
	// Look tells who has the directory, without taking anything.
	Look func(context.Context) solehold.Status
}

// Watched is how a watch ended.
type Watched struct {
	// Cause is why.
	Cause policy.Cause
	// Held says that what was launched found the directory taken by then.
	Held bool
	// Busy says that another watch is at work there, and nothing was done.
	Busy bool
	// GaveUp says that nothing is started any more.
	GaveUp bool
}
