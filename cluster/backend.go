package cluster

import (
	"context"
	"time"
)

// Backend is an engine as one client sees it. Its methods may be called from any goroutine.
type Backend interface {
	// Traits says what the engine can do.
	Traits() Traits
	// Key is where in the engine the claim of a lock lies, as [Seen] has it. It is for people.
	Key(name string) string
	// Grant asks for a lease. What was granted may be longer or shorter than what was asked for.
	Grant(ctx context.Context, ttl time.Duration) (Session, error)
	// Close ends the connections. Leases that were not revoked run out by themselves.
	Close() error
}

// Traits is what an engine can do.
type Traits struct {
	// Engine is its name: "etcd".
	Engine string
	// Push says that a lost claim and a freed lock are told by the engine, in milliseconds.
	Push bool
	// RenewLooks says that a renewal looks at each claim, so that nothing else need be verified.
	RenewLooks bool
	// Fencing says in a few words what tokens do not survive; "" for nothing but a restore from backup.
	Fencing string
}

// Session is one lease at an engine. Each method is one request, bounded by its context also while the engine is silent;
// any may be called while others run. An error that is neither [ErrLeaseGone] nor a *HeldError says nothing about what the
// engine has done.
type Session interface {
	// TTL is what was granted.
	TTL() time.Duration
	// Renew returns nil when the engine has acknowledged a renewal that was sent during this call. It never makes a lease
	// or a claim anew. It gives the nonces of claims that were owned before and are seen to be missing; an engine whose
	// renewal does not look gives none.
	Renew(ctx context.Context) (gone []string, err error)
	// Claim takes a lock if nobody has it, in one transaction. With the nonce of a claim that is ours it gives that claim
	// again, with Clean false: what the predecessor left is not known any more. A refused claim writes nothing.
	Claim(ctx context.Context, r Request) (Grant, error)
	// Verify looks whether claims are still ours, with a read that no partitioned or lagging server can answer. It gives
	// the nonces of those that are not.
	Verify(ctx context.Context, claims []Claim) (gone []string, err error)
	// Release gives a claim back if it is still ours, by nonce and, unless it is 0, by token; nil says that it is not
	// ours any more, whoever has it now. Clean says that the next owner need not wait.
	Release(ctx context.Context, c Claim, clean bool) error
	// Wait returns nil when the lock may be free again. An error says that nothing is known about it: the caller asks
	// again, at its own pace.
	Wait(ctx context.Context, held *HeldError) error
	// Gone gives claims of this session that were seen to be deleted or another's, and nil from an engine without push.
	Gone() <-chan Claim
	// Revoke ends the lease and its claims at the engine. None of its methods may be called afterwards.
	Revoke(ctx context.Context) error
}

// Batcher is a session that makes several claims with one request.
type Batcher interface {
	// ClaimEach is Claim for each of several locks, no two of which are the same. It gives as many answers, in the same
	// order.
	ClaimEach(ctx context.Context, all []Request) []Answer
}

// Answer is that to a claim.
type Answer struct {
	// Grant is what was granted, if Err is nil.
	Grant Grant
	// Err is that of Claim.
	Err error
}

// Request is what a claim says.
type Request struct {
	// Name is the lock. It is any text that CheckName accepts; engines write it with EscapeName.
	Name string
	// Nonce tells this claim from every other one, also of this process.
	Nonce string
	// Delay is the lock-delay that the successor waits if there is no clean release.
	Delay time.Duration
	// Info is what others see of the holder. It is a label, never evidence, and holds no secrets.
	Info string
	// Since is the time of day of the claim: a label as well.
	Since string
	// Place is for [Sticker] alone: where the claim is used.
	Place string
}

// Grant is a claim that was made.
type Grant struct {
	// Token is the fencing token: higher than that of every claim of the lock before.
	Token uint64
	// Clean says that the predecessor released cleanly, or that there was none.
	Clean bool
	// Delay is the lock-delay that the predecessor asks for.
	Delay time.Duration
}

// Claim is a claim of a session.
type Claim struct {
	// Name is the lock.
	Name string
	// Nonce is that of the request.
	Nonce string
	// Token is that of the grant, or 0 where it is not known whether there was one.
	Token uint64
}

// Lease is a lock that is held for a time. Its methods may be called from any goroutine.
type Lease interface {
	// Name is the lock.
	Name() string
	// Token is the fencing token. Give it to whatever is written to, so that late writes of an earlier owner are refused.
	Token() uint64
	// Context is cancelled with a *LostError as its cause when the holder must stop, and with context.Canceled by Release.
	// It carries the values of the context given to Acquire but not its end.
	Context() context.Context
	// Check returns nil while the holder may work: one atomic load and one look at the clock. Call it before each step
	// that others can see. It is right even where the timer behind Context is late.
	Check() error
	// Killed is closed when the work must be killed.
	Killed() <-chan struct{}
	// Release gives the lock back. The work must have ended: the next owner begins at once. An error says that the engine
	// has not confirmed it; the lock then becomes free when the lease runs out. Calling it again does nothing.
	Release(ctx context.Context) error
}
