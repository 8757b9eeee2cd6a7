// Package peers puts solehold and the programs it is compared with behind one
// interface, each used as its own documentation says.
package peers

import (
	"errors"
	"fmt"
)

// ErrHeld is what Try returns when somebody else holds the lock.
var ErrHeld = errors.New("held")

// Lock is one way to hold a directory.
type Lock interface {
	// Try takes it or returns ErrHeld without waiting. It is
	// errors.ErrUnsupported where the peer can only wait.
	Try() error
	// Wait takes it, however long that lasts.
	Wait() error
	// Drop gives it back.
	Drop() error
}

// Peer is one of those compared.
type Peer struct {
	// Name is how the helper process and the table call it.
	Name string
	// Calls names what of its API is used for Try and Drop.
	Calls string
	// Open prepares a lock on the directory dir, which exists; it takes nothing.
	Open func(dir string) (Lock, error)
}

// Find returns the peer of that name.
func Find(name string) (Peer, error) {
	for _, p := range All() {
		if p.Name == name {
			return p, nil
		}
	}
	return Peer{}, fmt.Errorf("no peer is called %q", name)
}
