// Package diagnose is the brain of the read side: it puts together what the
// lock, the record, the history and the processes tell about a directory. It
// takes nothing, changes nothing and signals nobody.
package diagnose

import (
	"context"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
)

// Report is everything that `status` shows of one directory.
type Report struct {
	solehold.Status
	// Before is how the holder before the present or last one ended.
	Before *Past `json:"before,omitempty"`
	// ReadySince is when the present holder said that it serves.
	ReadySince time.Time `json:"ready_since,omitzero"`
	// Refused counts the starters turned away since the present holder started.
	Refused int `json:"refused,omitempty"`
	// LastRefused is the newest of them.
	LastRefused time.Time `json:"last_refused,omitzero"`
	// Error is why the state is UNKNOWN.
	Error string `json:"error,omitempty"`
}

// Past is the end of an earlier holder.
type Past struct {
	// Token is its fencing token.
	Token uint64 `json:"token"`
	// Kind is released, vanished or lost.
	Kind journal.Kind `json:"kind"`
	// Time is when its end was written down.
	Time time.Time `json:"time"`
	// Detail says more.
	Detail string `json:"detail,omitempty"`
	// Class says how a vanished holder went.
	Class string `json:"class,omitempty"`
}

// Status looks at one directory. A directory that cannot be looked at is a
// report with the state UNKNOWN.
func Status(ctx context.Context, dir string, o *solehold.Options) Report {
	s, err := solehold.Inspect(ctx, dir, o)
	if err != nil {
		s = solehold.Status{Dir: dir, State: solehold.NotKnown, Err: err}
	}
	if s.Record.Class == "" {
		s.Record.Class = "none"
	}
	r := Report{Status: s}
	if s.Err != nil {
		r.Error = s.Err.Error()
		return r
	}
	r.writers()
	if h, err := History(dir, o); err == nil {
		r.past(h)
	}
	return r
}

// past reads the end of the holder before off the history, and counts the
// refusals since.
func (r *Report) past(h journal.History) {
	current := r.Token
	if r.State != solehold.Held && r.State != solehold.Detached {
		current++ // nobody has it: the last holder is the one before
	}
	exits := map[uint64]string{}
	for _, e := range h.Events {
		switch e.Kind {
		case journal.ChildExited:
			exits[e.Token] = e.Detail
		case journal.Acquired:
			r.Refused = 0
		case journal.Ready:
			if e.Token == r.Token && r.Owner != nil {
				r.ReadySince = e.Time
			}
		case journal.Refused:
			r.Refused += 1 + e.More
			r.LastRefused = e.Time
		case journal.Released, journal.Vanished, journal.Lost:
			if e.Token < current {
				r.Before = &Past{Token: e.Token, Kind: e.Kind, Time: e.Time, Detail: e.Detail, Class: e.Class}
				if how := exits[e.Token]; how != "" {
					r.Before.Detail = how + "; " + e.Detail
				}
			}
		}
	}
	if r.State == solehold.Free {
		r.Refused = 0
	}
}
