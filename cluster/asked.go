package cluster

import (
	"maps"
	"sync"
	"time"
)

// Asked is what a session remembers of the claims that it has asked for, by nonce. Answers are lost and requests arrive
// late, so a claim is remembered from before it is asked for until nobody can need it any more. The zero value is empty;
// its methods may be called from any goroutine.
type Asked struct {
	mu     sync.Mutex
	claims map[string]AskedClaim
}

// AskedClaim is one claim that may be ours.
type AskedClaim struct {
	// Name is the lock.
	Name string
	// Record is what was written: a release compares it.
	Record Record
	// Owned says that the engine has said so, and that it was not given back.
	Owned bool
}

// Ask takes note of a claim before it is asked for.
func (a *Asked) Ask(r Request) AskedClaim {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.claims == nil {
		a.claims = map[string]AskedClaim{}
	}
	c := AskedClaim{Name: r.Name, Record: RecordOf(r)}
	a.claims[r.Nonce] = c
	return c
}

// Own takes note that the engine has granted a claim.
func (a *Asked) Own(nonce string) { a.owned(nonce, true) }

func (a *Asked) owned(nonce string, is bool) (known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c, known := a.claims[nonce]
	if known {
		c.Owned = is
		a.claims[nonce] = c
	}
	return known
}

// Leave takes note that a claim is not ours, and forgets it after a while: a request before may still be on its way, and
// is then taken back by its nonce.
func (a *Asked) Leave(nonce string, after time.Duration) {
	if !a.owned(nonce, false) {
		return
	}
	time.AfterFunc(after, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.claims, nonce)
	})
}

// Get gives a claim, if it is remembered.
func (a *Asked) Get(nonce string) (AskedClaim, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c, ok := a.claims[nonce]
	return c, ok
}

// All gives the claims that are remembered.
func (a *Asked) All() map[string]AskedClaim {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.claims)
}
