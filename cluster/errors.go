package cluster

import (
	"errors"
	"fmt"
)

// ErrHeld is what errors.Is finds in a *HeldError: somebody else has the lock. No other failure is ever reported as this.
var ErrHeld = errors.New("already has its owner")

// ErrLeaseGone is the engine's own word that a lease does not exist any more.
var ErrLeaseGone = errors.New("the engine does not have this lease any more")

// ErrLate says that a claim came when its lease had no time left. Nothing was started; try again.
var ErrLate = errors.New("the engine answered too late to own the lock")

// ErrSilent says that the engine took longer to answer than [AcquireOptions] allow. What it may have done by then is undone.
var ErrSilent = errors.New("did not answer")

// ErrToken says that a token is not above the floor: the engine has lost data, or it is another engine.
var ErrToken = errors.New("the engine's token is not above the last one that was seen here; " +
	"was it restored from a backup, or is it another engine?")

// ErrDoubt says that the clock may have stood still (a paused virtual machine) and that the lease is being looked at.
var ErrDoubt = errors.New("the clock may have stood still: the lease is not proven at this moment")

// ErrClosed says that the client was closed.
var ErrClosed = errors.New("the client is closed")

// errNoLease is an engine that is away, or that grants what does not work.
var errNoLease = errors.New("gave no lease")

// HeldError says that a lock has its owner.
type HeldError struct {
	// Name is the lock.
	Name string
	// Info is what the holder says of itself.
	Info string
	// Token is the holder's.
	Token uint64
	// Foreign says that the place in the engine holds something that no solehold wrote. It is left alone.
	Foreign bool
	// Key is that place.
	Key string
	// Sticky says that the claim has no lease, so that waiting is of no use. Since is when it was made.
	Sticky bool
	Since  string
}

// Error is one line: what has an owner, and who it is.
func (e *HeldError) Error() string {
	switch {
	case e.Foreign:
		return fmt.Sprintf("lock %q: the key %s holds something that solehold did not write; it is left alone: look who uses it, or choose another prefix", e.Name, e.Key)
	case e.Sticky:
		return fmt.Sprintf("lock %q has a sticky claim since %.40s: %.200q, token %d; nobody gets it without an operator's break", e.Name, e.Since, e.Info, e.Token)
	case e.Info != "":
		return fmt.Sprintf("lock %q already has its owner: %.200q, token %d", e.Name, e.Info, e.Token)
	}
	return fmt.Sprintf("lock %q already has its owner, token %d", e.Name, e.Token)
}

// Is makes errors.Is(err, ErrHeld) true.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// LostError is the cause in the context of a lease whose holder must stop.
type LostError struct {
	// Name is the lock.
	Name string
	// Token is the token that is void from now on.
	Token uint64
	// Why says what was seen, or not seen.
	Why string
}

// Error names the lock and what was seen.
func (e *LostError) Error() string {
	return fmt.Sprintf("lock %q (token %d) is lost: %s", e.Name, e.Token, e.Why)
}
