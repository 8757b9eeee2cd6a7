package lease

import (
	"fmt"
	"strings"
	"time"
)

// Op names a command.
type Op uint8

const (
	// Wake asks for a [Tick] at the time At. It replaces the Wake before it: there is one timer.
	Wake Op = iota
	// Grant asks the engine for the lease. Answer: [Granted] or [Failed].
	Grant
	// Renew sends one renewal now. Its time counts as the time of sending, so it is never too late. Several may be on
	// their way. Answer: [Acked], [Failed] or [LeaseGone].
	Renew
	// Verify looks at all owned claims. Answer: [Acked], [Failed], and a [ClaimGone] for each that is not ours.
	Verify
	// Ask asks for a claim. The nonce is that of the claim's number, so that asking again does no harm.
	// Answer: [Claimed], [Refused], [Failed] or [LeaseGone].
	Ask
	// Release gives a claim back if it is ours, or takes care that it will never be ours. Clean says whether the next
	// owner may begin at once. Answer: [Acked] or [Failed].
	Release
	// Revoke gives the lease back. Answer: [Acked] or [Failed].
	Revoke
	// Own makes an owner of the caller: it may work from now on.
	Own
	// Reject is the end of a claim that never was an owner.
	Reject
	// Freeze stops the work for a moment without ending it, where that can be done.
	Freeze
	// Thaw ends a freeze.
	Thaw
	// Tell tells the owner that its time is over, for Cause: cancel, TERM. The answer awaited is [Stopped].
	Tell
	// Kill kills the work.
	Kill
	// FailStop is the last resort: the work was not seen to end. The shell ends itself and all that it can.
	FailStop
	// Forget says that nothing is left of a claim.
	Forget
	// End says that nothing is left of the lease, for Cause. Nothing follows.
	End
)

// String gives the word used in scripts.
func (o Op) String() string {
	return word(o, "wake", "grant", "renew", "verify", "ask", "release", "revoke", "own", "reject", "freeze", "thaw", "tell",
		"kill", "fail-stop", "forget", "end")
}

// Cause is why a command is given. It is data: the sentence for people is the shell's.
type Cause uint8

const (
	// BecauseNone is for commands that need no reason.
	BecauseNone Cause = iota
	// BecauseUnproven is a lease that was not renewed in time, as far as is known.
	BecauseUnproven
	// BecauseLeaseGone is a lease that the engine does not have any more.
	BecauseLeaseGone
	// BecauseClaimGone is a claim that is missing or another's.
	BecauseClaimGone
	// BecauseHeld is a claim that somebody else has.
	BecauseHeld
	// BecauseCancelled is a caller that does not want it any more.
	BecauseCancelled
	// BecauseLate is a claim that came when the lease had no time left.
	BecauseLate
	// BecauseToken is a token that is not above the floor: the engine has lost data, or it is another engine.
	BecauseToken
	// BecauseLeave is a lease that is given back.
	BecauseLeave
	// BecauseUngranted is a lease that was never granted.
	BecauseUngranted
	// BecauseShort is a lease granted for a time that does not work with the grace.
	BecauseShort
)

// String gives the word used in scripts.
func (c Cause) String() string {
	return word(c, "", "unproven", "lease-gone", "claim-gone", "held", "cancelled", "late", "token", "leave", "ungranted", "short")
}

// Command is one thing that the shell is to do. Those of one step are done in order.
type Command struct {
	// Op says what.
	Op Op
	// ID is what the answer's For names, where there is an answer.
	ID uint64
	// Claim is the claim that it is about.
	Claim uint64
	// At is for [Wake], on the clock of [Machine.Step].
	At time.Duration
	// Token is for [Own] and [Release]; 0 in a release of a claim that may not exist.
	Token uint64
	// Clean is for [Release].
	Clean bool
	// Cause is why.
	Cause Cause
}

// String gives the command as scripts have it.
func (c Command) String() string {
	var b strings.Builder
	b.WriteString(c.Op.String())
	if c.Op == Wake {
		fmt.Fprintf(&b, " %v", c.At)
	}
	if c.ID != 0 {
		fmt.Fprintf(&b, " #%d", c.ID)
	}
	if c.Claim != 0 {
		fmt.Fprintf(&b, " claim=%d", c.Claim)
	}
	if c.Token != 0 {
		fmt.Fprintf(&b, " token=%d", c.Token)
	}
	if c.Clean {
		b.WriteString(" clean")
	}
	if c.Cause != BecauseNone {
		fmt.Fprintf(&b, ": %v", c.Cause)
	}
	return b.String()
}

// word gives the i-th word.
func word[T ~uint8](i T, words ...string) string {
	if int(i) < len(words) {
		return words[i]
	}
	return fmt.Sprintf("%T(%d)", i, uint8(i))
}
