package lease_test

import (
	"fmt"
	"time"

	"github.com/solehold/solehold/internal/lease"
)

// unit is a twentieth of the time to live: all deadlines are whole units.
const unit = 100 * time.Millisecond

// ttl and its tenth, by which the engine's clock may be faster.
const (
	ttl   = 20 * unit
	rate  = 2 * unit
	delay = 4 * unit
)

// engine is a store with leases, one for each client, and one lock.
type engine struct {
	tokens  uint64
	expires [2]time.Duration // of the leases on the engine's clock, 0 for none
	owner   int              // the client whose claim it is, or -1
	nonce   uint64           // the claim's number
	token   uint64
	clean   bool // whether the last tenure was released cleanly
	first   bool // there was no tenure yet
}

// message is a command on its way to the engine, or its answer on the way back.
type message struct {
	cmd    lease.Command
	sent   time.Duration
	done   bool // the engine has handled it
	ghost  bool // the client does not await it any more
	answer lease.Input
}

// expire gives away what has run out.
func (e *engine) expire(now time.Duration) {
	for i, at := range e.expires {
		if at != 0 && now >= at {
			e.drop(i)
		}
	}
}

// drop ends a lease and its claim.
func (e *engine) drop(i int) {
	e.expires[i] = 0
	if e.owner == i {
		e.owner, e.token = -1, 0
	}
}

// handle carries out a command of client i at its time.
func (e *engine) handle(i int, c lease.Command, now time.Duration) lease.Input {
	alive := e.expires[i] != 0
	if !alive && c.Op != lease.Grant && c.Op != lease.Release {
		return lease.Input{Kind: lease.LeaseGone, For: c.ID}
	}
	acked := lease.Input{Kind: lease.Acked, For: c.ID}
	switch c.Op {
	case lease.Grant:
		e.expires[i] = now + ttl - rate
		return lease.Input{Kind: lease.Granted, For: c.ID, TTL: ttl}
	case lease.Renew:
		e.expires[i] = now + ttl - rate
	case lease.Verify:
		if e.owner != i {
			return lease.Input{Kind: lease.ClaimGone, For: c.ID}
		}
	case lease.Ask:
		return e.claim(i, c)
	case lease.Release:
		if e.owner == i && e.nonce == c.Claim && (c.Token == 0 || c.Token == e.token) {
			e.owner, e.token = -1, 0
			e.clean = c.Clean
		}
	case lease.Revoke:
		e.drop(i)
	}
	return acked
}

// claim is idempotent by nonce. Who asks again does not learn how the predecessor ended.
func (e *engine) claim(i int, c lease.Command) lease.Input {
	in := lease.Input{Kind: lease.Claimed, For: c.ID, Claim: c.Claim}
	switch {
	case e.owner == i && e.nonce == c.Claim:
		in.Token = e.token
		return in
	case e.owner >= 0:
		in.Kind = lease.Refused
		return in
	}
	in.Clean, in.Delay = e.clean || e.first, delay+2*unit
	e.tokens++
	e.owner, e.nonce, e.token, e.clean, e.first = i, c.Claim, e.tokens, false, false
	in.Token = e.tokens
	return in
}

// reset loses the claims and the count of the tokens.
func (e *engine) reset() { *e = engine{owner: -1, first: true, expires: e.expires} }

func (e engine) key(now time.Duration) string {
	for i := range e.expires {
		if e.expires[i] != 0 {
			e.expires[i] -= now
		}
	}
	return fmt.Sprint(e)
}
