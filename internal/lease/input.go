package lease

import "time"

// Kind names an input.
type Kind uint8

const (
	// Open is given once, first: it asks for the lease.
	Open Kind = iota
	// Granted answers [Grant]: TTL.
	Granted
	// Failed answers any command with For: it is not known what came of it, or that it was refused for a reason that
	// says nothing about the lease (a connection, a time-out, a credential).
	Failed
	// Acked answers [Renew], [Verify] (all claims are ours), [Release] (the claim is not ours any more) and [Revoke].
	Acked
	// LeaseGone is the engine's own word that the lease does not exist.
	LeaseGone
	// Acquire asks for a claim: Claim, Floor.
	Acquire
	// Claimed answers [Ask]: Claim, Token, Clean, Delay.
	Claimed
	// Refused answers [Ask]: somebody else has it, and nothing was written.
	Refused
	// Cancel is a caller that does not want its claim any more before it owns it.
	Cancel
	// ClaimGone is a claim that was seen to be missing or another's, in a push, a renewal or a verification.
	ClaimGone
	// Stopped is the end of an owner's work: its tree is seen dead, or it asks for the release itself.
	Stopped
	// Doubt is a clock that may have stood still, as in a virtual machine that was paused.
	Doubt
	// Leave ends the lease when nothing hangs on it any more: owners are told, other claims are withdrawn.
	Leave
	// Tick is the time of a [Wake]. More of them do no harm.
	Tick
)

// String gives the word used in scripts.
func (k Kind) String() string {
	return word(k, "open", "granted", "failed", "acked", "lease-gone", "acquire", "claimed", "refused", "cancel", "claim-gone",
		"stopped", "doubt", "leave", "tick")
}

// Input is one thing that happened. Only the fields that [Kind] names are read.
type Input struct {
	// Kind says what happened.
	Kind Kind
	// For is the ID of the command that is answered. An answer that nobody awaits is dropped.
	For uint64
	// Claim is the claim, by the number that the shell gave in [Acquire]. Numbers are not used again.
	Claim uint64
	// TTL is what the engine granted.
	TTL time.Duration
	// Token is the fencing token of a claim.
	Token uint64
	// Floor is what the token must be above: the highest that the data directory has seen. For [Acquire].
	Floor uint64
	// Clean says that the predecessor released after its work had ended, or that there was none. For [Claimed].
	Clean bool
	// Delay is the lock-delay that the predecessor asks of its successor, which may be longer than ours. For [Claimed].
	Delay time.Duration
}
