package supervise

import (
	"os"
	"time"

	"github.com/solehold/solehold"
)

// DefaultForceGrace is the time between SIGTERM and SIGKILL of a forced release:
// its holder had its time before, when it was asked.
const DefaultForceGrace = 5 * time.Second

// Force is a release that the holder does not give.
type Force struct {
	// Dir is the data directory.
	Dir string
	// Options are those of the lock.
	Options solehold.Options
	// Grace is the time between SIGTERM and SIGKILL; DefaultForceGrace by default.
	Grace time.Duration
	// Token is that of the holder who is meant: another one by now is left alone.
	// 0 is for whoever holds it.
	Token uint64
	// Because says who wants it and why.
	Because string
	// Waited is how long the holder did not follow a request.
	Waited time.Duration
	// Answers are the last ones to the probe, for the evidence.
	Answers []string
	// Saved says that the evidence was saved before.
	Saved bool
	// State takes the incident; nil where it cannot be opened, which is then said.
	State *os.Root
	// Log appends an event to the history.
	Log func(solehold.Event) error
	// Say prints one line for people.
	Say func(format string, args ...any)
}

// Forced is what was done.
type Forced struct {
	// PIDs are the processes that were signalled.
	PIDs []int
	// Incident is the name of the evidence.
	Incident string
	// Finding is its one sentence.
	Finding string
}
