// Package diagnose is the brain of the read side: it puts together what the
// lock, the record, the history and the processes tell about a directory. It
// takes nothing, changes nothing and signals nobody.
package diagnose

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/journald"
)

// Report is everything that `status` shows of one directory.
type Report struct {
	solehold.Status
	// Before is how the holder before the present or last one ended.
	Before *Past `json:"before,omitempty"`
	// ReadySince is when the present holder said that it serves.
	ReadySince time.Time `json:"ready_since,omitzero"`
	// Health is the newest answer to the probe of `run`; nil without one.
	Health *journal.Pulse `json:"health,omitempty"`
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
// report with the state UNKNOWN. It returns after o.Timeout at the latest; what
// is not known by then is named in the report.
func Status(ctx context.Context, dir string, o *solehold.Options) Report {
	end := time.Now().Add(limit(o))
	s, err := solehold.InspectNamed(ctx, dir, o)
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
	r.Findings = slices.Clip(r.Findings)
	seen := r // what goes on after its time must not meet what is written below
	full, answered := within(ctx, time.Until(end), func() Report { return seen.detailed(dir, o) })
	if !answered {
		r.Findings = append(r.Findings, "who writes there and what happened before: not known, the file system did not answer within "+limit(o).String())
		return r
	}
	return full
}

// detailed adds what other files tell. They are found by the path that was asked
// for: r.Dir may mean something else in this mount namespace.
func (r Report) detailed(dir string, o *solehold.Options) Report {
	r.writers()
	return WithHistory(r.Status, dir, o)
}

// WithHistory adds to a status what the history of the directory tells. Who
// writes there is not looked for.
func WithHistory(s solehold.Status, dir string, o *solehold.Options) Report {
	h, p, err := readHistory(dir, o)
	if err != nil {
		return Report{Status: s}
	}
	return FromEvents(s, h.Events, p)
}

// FromEvents is WithHistory for a caller that has read the events, at least those
// since the end of the holder before, and the newest answer of the service.
func FromEvents(s solehold.Status, events []journal.Event, p journal.Pulse) Report {
	r := Report{Status: s}
	r.past(events)
	if r.State == solehold.Held && p.Token == r.Token && p.Token > 0 {
		r.Health = &p
	}
	return r
}

// History reads the events of a directory, oldest first, from its file and from
// systemd's journal where there is one. A directory without any has an empty one.
// It returns after o.Timeout at the latest, then with an error that is
// solehold.ErrUnanswered. A journal that does not answer in half of that is a
// note.
func History(ctx context.Context, dir string, o *solehold.Options) (Story, error) {
	return Ask(ctx, Question{dir, "read the history", limit(o)}, func() (Story, error) {
		ctx, cancel := context.WithTimeout(ctx, limit(o)/2)
		defer cancel()
		// The journal is told first and so is asked first: what happens between the
		// two would seem to have been taken out of the file.
		told := AskJournal(ctx, dir)
		h, _, err := readHistory(dir, o)
		if err != nil {
			return Story{History: h}, err
		}
		return told.With(h), nil
	})
}

// Told is what systemd's journal has of a directory.
type Told struct {
	entries []journald.Entry
	trusted func(uid int) bool
	// Note says why it could not be asked; empty where it was, or where there is none.
	Note string
}

// AskJournal asks it, until ctx ends.
func AskJournal(ctx context.Context, dir string) Told {
	path, trusted := identity(dir)
	entries, err := journald.Read(ctx, path)
	t := Told{entries: entries, trusted: trusted}
	if err != nil && !errors.Is(err, journald.ErrNone) {
		t.Note = "systemd's journal could not be asked: " + err.Error()
	}
	return t
}

// Empty says that there is nothing to be put together with the file.
func (t Told) Empty() bool { return len(t.entries) == 0 }

// With puts it together with what the file has.
func (t Told) With(file journal.History) Story {
	s := Join(file, t.entries, t.trusted)
	if t.Note != "" {
		s.Notes = append(s.Notes, t.Note)
	}
	return s
}

// past reads the end of the holder before off the history, and counts the
// refusals since.
func (r *Report) past(events []journal.Event) {
	current := r.Token
	if r.State != solehold.Held && r.State != solehold.Detached {
		current++ // nobody has it: the last holder is the one before
	}
	exits := map[uint64]string{}
	for _, e := range events {
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
