package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Operator is what a person can see and do at an engine, without a lease. No client does any of it by itself.
type Operator interface {
	// Look gives what there is of one lock, or of all below the prefix for "". It takes nothing and writes nothing.
	Look(ctx context.Context, name string) ([]Seen, error)
	// Raise makes each later token of a lock higher than a number, for data that has seen tokens of another engine or of
	// this one before it was restored. The lock must be free: a *HeldError otherwise.
	Raise(ctx context.Context, name string, above uint64) error
	// Break removes a claim if it has this token, and leaves the reason for those who look. Its holder is told if it can
	// be reached; the next owner waits out the lock-delay. ErrNotThere says that no claim has this token.
	Break(ctx context.Context, name string, token uint64, why string) error
}

// Follower is a backend that tells by itself when a lock may have changed hands.
type Follower interface {
	// Follow gives a signal when a lock, or for "" any below the prefix, may have changed, and when changes may have been
	// missed. Signals that nobody has taken are one: look, and look again at the next one. It ends with ctx.
	Follow(ctx context.Context, name string) <-chan struct{}
}

// ErrNotThere says that there is no claim with this token: it is free, or another's by now.
var ErrNotThere = errors.New("no claim has this token: look again")

// ErrNoRaise says that the tokens of an engine cannot be raised.
var ErrNoRaise = errors.New("the tokens of this engine cannot be raised")

// Seen is what there is of one lock.
type Seen struct {
	// Name is the lock.
	Name string `json:"name"`
	// Key is where in the engine its claim lies.
	Key string `json:"key"`
	// Held says that there is a claim.
	Held bool `json:"held"`
	// Foreign says that no solehold wrote it.
	Foreign bool `json:"foreign,omitempty"`
	// Token is the claim's; 0 where nobody holds the lock.
	Token uint64 `json:"token,omitempty"`
	// Highest is what no token up to now is above, and each later one is.
	Highest uint64 `json:"-"`
	// Info is what the holder says of itself, or what the last one said.
	Info string `json:"info,omitempty"`
	// Left is the time after which the claim runs out unless it is renewed, as the engine counts; 0 where it does not say.
	Left time.Duration `json:"-"`
	// Since is when the claim was made, by the clock of its holder; "" where it does not say.
	Since string `json:"since,omitempty"`
	// Ended says of a free lock that its last owner released it; else it ran out, or was broken.
	Ended bool `json:"ended,omitempty"`
	// Broken is why an operator has broken the last claim, and who.
	Broken string `json:"broken,omitempty"`
	// Sticky says that the claim has no lease; SeenAt is when its holder was last there, by the holder's clock, and Idle says
	// that nothing worked under it then.
	Sticky bool   `json:"sticky,omitempty"`
	SeenAt string `json:"seen,omitempty"`
	Idle   bool   `json:"idle,omitempty"`
	// Nonce and Place are those of a sticky claim, and Note is what lies beside it.
	Nonce string `json:"-"`
	Place string `json:"-"`
	Note  string `json:"-"`
}

// SeenOf gives what is seen of a lock: the text of its claim, "" where there is none, and of what is left for the successor.
func SeenOf(name, key, claim, last string) Seen {
	s := Seen{Name: name, Key: key, Held: claim != ""}
	text := last
	if s.Held {
		text = claim
	}
	r, err := ParseRecord(text)
	s.Foreign = err != nil && s.Held
	s.Info, s.Ended, s.Broken, s.Since = r.Info, r.Ended && !s.Held, r.Broken, r.Since
	if s.Sticky = r.Sticky && s.Held; !s.Sticky {
		return s
	}
	s.Nonce, s.Note = r.Nonce, last
	note, err := ParseRecord(last)
	if err != nil || note.Nonce != r.Nonce { // not written yet
		note = r
	}
	s.Place, s.SeenAt, s.Idle = note.Place, note.Seen, note.Ended
	return s
}

// BrokenRecord is what is left of a claim that is broken. What lies beside a sticky one says how long its holder may need now.
func BrokenRecord(claim, beside, why string) (string, error) {
	r, err := ParseRecord(claim)
	if err != nil {
		return "", fmt.Errorf("it was not written by solehold, and is left alone: %w", err)
	}
	if note, err := ParseRecord(beside); r.Sticky && err == nil && note.Nonce == r.Nonce {
		r.DelayMS = max(r.DelayMS, note.DelayMS)
	}
	r.Ended, r.Broken = false, why
	return r.Text(), nil
}

// UnescapeName reads what EscapeName wrote.
func UnescapeName(text string) (string, error) { return url.PathUnescape(text) }
