package solehold

import (
	"time"

	"github.com/solehold/solehold/internal/datadir"
)

// WaitForever as Options.Wait waits as long as the context allows.
const WaitForever time.Duration = -1

// NoTimeout as Options.Timeout runs every call on the caller's goroutine. That
// saves the hand-over to another one, and hangs with a file system that hangs.
const NoTimeout time.Duration = -1

// DefaultTimeout is how long a call waits for a file system that does not answer.
const DefaultTimeout = 5 * time.Second

// Options change how Acquire works. The zero value, like nil, means: do not
// wait, answer within five seconds, sync the record, accept every file system.
type Options struct {
	// Name is the name others see for this holder; by default that of the executable.
	Name string
	// Wait is how long to wait for a holder to let go; 0 does not wait,
	// WaitForever leaves the end to the context. Waiting sleeps until something
	// happens: it does not poll.
	Wait time.Duration
	// OnWait is called when waiting begins and when the holder waited for
	// changes. It must not block.
	OnWait func(*HeldError)
	// OnWarning is called for what does not prevent the lock but should be
	// known: a file system whose locks may not reach everybody, a history that
	// cannot be written. It must not block. By default warnings are dropped.
	OnWarning func(error)
	// OnEvent is called with each event that this process adds to the history, in
	// that order, also where the file cannot be written, and with the path of the
	// data directory: for a log of the program's own. It must not block, and not
	// call the lock. By default nobody is told.
	OnEvent func(dir string, e Event)
	// Timeout bounds how long the file system may take to answer; by default
	// DefaultTimeout, with NoTimeout it is not bounded. It does not bound Wait.
	Timeout time.Duration
	// Create makes a missing data directory, mode 0700, but no parents. Without it a missing
	// directory is an error: it may be a disk that is not mounted.
	Create bool
	// Strict refuses file systems on which one owner cannot be promised.
	Strict bool
	// NoSync leaves out the wait for the disk when the record is written. After
	// a power loss a token may then be given a second time.
	NoSync bool
	// StateDir is where solehold's files lie, for services that insist on an
	// empty data directory; by default .solehold in the data directory. The two
	// directories remember each other, so later calls find it without being told.
	StateDir string
}

// settled returns the options with defaults filled in.
func (o *Options) settled() Options {
	var s Options
	if o != nil {
		s = *o
	}
	if s.Timeout == 0 {
		s.Timeout = DefaultTimeout
	}
	if s.OnWait == nil {
		s.OnWait = func(*HeldError) {}
	}
	if s.OnWarning == nil {
		s.OnWarning = func(error) {}
	}
	return s
}

// tell calls OnEvent where there is one. The path costs a system call.
func (o *Options) tell(dir *datadir.Dir, e Event) {
	if o.OnEvent != nil {
		o.OnEvent(dir.Path(), e)
	}
}
