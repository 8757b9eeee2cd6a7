package solehold

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// ReleaseRequest is what somebody who wants a directory asks of its holder.
type ReleaseRequest struct {
	// Token is that of the holder who is meant, so that an old request never
	// reaches a later one.
	Token uint64 `json:"token"`
	// By names who asks, for people; empty where the request does not say.
	By string `json:"by,omitempty"`
	// Why is the reason that was given.
	Why string `json:"why,omitempty"`
	// Logged says that the history has this request already: who asks writes it
	// down, so that it is known also where the holder never hears of it.
	Logged bool `json:"logged,omitempty"`
	// ID tells this request from another one with the same words.
	ID string `json:"id,omitempty"`
}

const (
	// maxRequest bounds the file of a request in bytes.
	maxRequest = 1024
	// maxRequestText bounds each text in it.
	maxRequestText = 200
)

// String says who asked and why.
func (r ReleaseRequest) String() string {
	by := r.By
	if by == "" {
		by = "somebody who gave no name"
	}
	if r.Why != "" {
		by += ": " + r.Why
	}
	return by
}

// parseRequest reads the file of a request. Nothing in it is trusted: texts are
// bounded and printable.
func parseRequest(text []byte) (ReleaseRequest, error) {
	var r ReleaseRequest
	if len(text) > maxRequest {
		return r, fmt.Errorf("a request of more than %d bytes", maxRequest)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return ReleaseRequest{}, err
	}
	if r.Token == 0 {
		return r, errors.New("it names no token")
	}
	r.By, r.Why, r.ID = requestText(r.By), requestText(r.Why), requestText(r.ID)
	return r, nil
}

// text is the content of a request's file.
func (r ReleaseRequest) text() ([]byte, error) {
	r.By, r.Why = requestText(r.By), requestText(r.Why)
	text, err := json.Marshal(r)
	if err == nil && len(text) >= maxRequest { // characters that JSON writes as six
		r.By, r.Why = clip(r.By, maxRequestText/4), clip(r.Why, maxRequestText/4)
		text, err = json.Marshal(r)
	}
	return append(text, '\n'), err
}

func requestText(s string) string { return clip(Printable(s), maxRequestText) }

// clip cuts a text to some number of characters.
func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// PendingRelease is a request to let go, from the moment it was made until
// Withdraw. Its methods are for one goroutine.
type PendingRelease struct{ p *pending }

// RequestRelease asks the holder of dir that has r.Token to let go. The request
// is written where the holder hears of it at once, and into the history; By and
// ID are filled in. Where another request to this holder is there already that
// one stays, and is made anew when it is withdrawn before ours. With a zero
// token nobody can be addressed: nothing is written, and the caller may still
// Wait and Log.
//
// It is only a request: nothing is taken, and the holder decides.
func RequestRelease(ctx context.Context, dir string, r ReleaseRequest, o *Options) (*PendingRelease, error) {
	p, err := requestRelease(ctx, dir, r, o.settled())
	if err != nil {
		return nil, err
	}
	return &PendingRelease{p}, nil
}

// Wait returns nil when that holder has let go: the directory is free, or has
// another holder by now. It does not poll. When the deadline of ctx is over the
// error is a *HeldError, else the cause of ctx or what made the directory
// unanswerable. It may be called again.
func (q *PendingRelease) Wait(ctx context.Context) error { return q.p.wait(ctx) }

// Withdraw takes the request back, unless another one has its place, and closes
// it; calling it more often does nothing. A holder that has heard it already may
// still let go.
func (q *PendingRelease) Withdraw() error { return q.p.withdraw() }

// Request is what was asked, with who asks filled in.
func (q *PendingRelease) Request() ReleaseRequest { return q.p.request() }

// StateRoot opens the directory of solehold's files, for the evidence that is
// saved before anybody is stopped. The caller closes it.
func (q *PendingRelease) StateRoot() (*os.Root, error) { return q.p.stateRoot() }

// Log appends an event about the holder to the history.
func (q *PendingRelease) Log(e Event) error { return q.p.log(e) }

// Sharers lists every process that is seen to share the lock or the mark of dir,
// whatever its record says: it is free when the last of them has ended or let
// go. Processes of other users, containers and pid namespaces may be missing.
// Only Linux shows them; elsewhere the error is errors.ErrUnsupported.
func Sharers(ctx context.Context, dir string, o *Options) ([]int, error) {
	return sharers(ctx, dir, o.settled())
}
