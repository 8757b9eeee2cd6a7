package overview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/evidence"
	"github.com/solehold/solehold/internal/journal"
)

const (
	// PageSize is how many events a page of a history has.
	PageSize = 50
	// MostPages is how far back pages go; what is older is in the file.
	MostPages = 100
	// mostLives is how many lives are told.
	mostLives = 60
)

// ErrUnknown says that there is no row of that name.
var ErrUnknown = errors.New("no such directory is known here")

// Life is one holder's time.
type Life struct {
	// Token is its fencing token.
	Token uint64 `json:"token"`
	// PID is the holder.
	PID int `json:"pid,omitempty"`
	// Name is its name or command.
	Name string `json:"name,omitempty"`
	// Boot is the first part of the boot's id.
	Boot string `json:"boot,omitempty"`
	// Start is when it took the directory.
	Start time.Time `json:"start"`
	// Ready is when its service was ready, zero if that was not told.
	Ready time.Time `json:"ready,omitzero"`
	// End is when it let go, or was found gone; zero if that was not told.
	End time.Time `json:"end,omitzero"`
	// How it ended: released, vanished or lost; empty if it did not.
	How string `json:"how,omitempty"`
	// Class says how a vanished one went: crash, reboot or unknown.
	Class string `json:"class,omitempty"`
	// Detail says more.
	Detail string `json:"detail,omitempty"`
	// Restarts counts how often its command was started again.
	Restarts int `json:"restarts,omitempty"`
	// Incidents counts what was saved of it.
	Incidents int `json:"incidents,omitempty"`
	// Refused counts the starters that it turned away.
	Refused int `json:"refused,omitempty"`
}

// Past is the history of one directory, a page of its events at a time.
type Past struct {
	// Lives are the newest, oldest first.
	Lives []Life `json:"lives"`
	// LeftOut counts the lives before them.
	LeftOut int `json:"left_out,omitempty"`
	// Events are those of the page, newest first.
	Events []journal.Event `json:"events"`
	// Page is its number, from 1; the newest events are on the first.
	Page int `json:"page"`
	// Pages is how many there are.
	Pages int `json:"pages"`
	// Total counts the events.
	Total int `json:"total"`
	// Skipped counts lines that are not events.
	Skipped int `json:"skipped,omitempty"`
	// Notes say where the history file and systemd's journal disagree.
	Notes []string `json:"notes,omitempty"`

	newest []journal.Event // a ring, as large as is needed for the page
}

// gates let one question at a time ask a directory, so that one that does not
// answer costs one goroutine.
type gates struct {
	mu  sync.Mutex
	all map[string]chan struct{}
}

func (g *gates) of(path string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = map[string]chan struct{}{}
	}
	if g.all[path] == nil {
		g.all[path] = make(chan struct{}, 1)
	}
	return g.all[path]
}

// ask runs work about a directory that is known, unless its file system hangs.
func ask[T any](ctx context.Context, w *Watcher, path string, work func(ctx context.Context, o *solehold.Options) (T, error)) (none T, err error) {
	h := w.Last()
	row, ok := h.Find(path)
	switch {
	case !ok:
		return none, fmt.Errorf("%s: %w", path, ErrUnknown)
	case row.hung():
		return none, fmt.Errorf("%s: %w", row.Problem.Detail, solehold.ErrUnanswered)
	}
	gate := w.gates.of(row.Path)
	q := diagnose.Question{Path: row.Path, Op: "read its files", Limit: w.o.Timeout}
	return diagnose.Ask(ctx, q, func() (T, error) {
		select {
		case gate <- struct{}{}:
			defer func() { <-gate }()
		case <-time.After(w.o.Timeout):
			return none, fmt.Errorf("%s: %w", row.Path, solehold.ErrUnanswered)
		}
		return work(context.WithoutCancel(ctx), &solehold.Options{Timeout: w.o.Timeout})
	})
}

// Past reads the history of a directory that the last look has seen.
func (w *Watcher) Past(ctx context.Context, path string, page int) (Past, error) {
	return ask(ctx, w, path, func(ctx context.Context, _ *solehold.Options) (Past, error) {
		row, _ := w.Last().Find(path)
		ctx, cancel := context.WithTimeout(ctx, w.o.Timeout/2)
		defer cancel()
		told := diagnose.AskJournal(ctx, row.Path) // which is told first, and so is asked first
		if told.Empty() {
			p, err := readPast(row.Path, page, nil)
			if told.Note != "" {
				p.Notes = append(p.Notes, told.Note)
			}
			return p, err
		}
		all := w.gates.of("") // to put both together takes room: for one at a time
		all <- struct{}{}
		defer func() { <-all }()
		return readPast(row.Path, page, &told)
	})
}

// Incidents lists those of a directory that the last look has seen, newest first.
func (w *Watcher) Incidents(ctx context.Context, path string) ([]evidence.Incident, error) {
	return ask(ctx, w, path, func(ctx context.Context, o *solehold.Options) ([]evidence.Incident, error) {
		row, _ := w.Last().Find(path)
		all, err := diagnose.Incidents(ctx, row.Path, o)
		slices.Reverse(all)
		return all, err
	})
}

// Part reads a file of an incident. Without a name of a file it is the summary, and
// without one of an incident the newest. There is no part where the error is
// evidence.ErrNoIncident or evidence.ErrNoPart.
func (w *Watcher) Part(ctx context.Context, path string, name diagnose.PartName) (diagnose.Part, []string, error) {
	type both struct {
		part  diagnose.Part
		names []string
	}
	b, err := ask(ctx, w, path, func(ctx context.Context, o *solehold.Options) (b both, err error) {
		row, _ := w.Last().Find(path)
		if name.File == "" {
			name.File = "summary.md"
		}
		if b.part, err = diagnose.IncidentPart(ctx, row.Path, o, name); err == nil {
			b.names, err = diagnose.IncidentParts(ctx, row.Path, o, b.part.Incident.ID)
		}
		return b, err
	})
	return b.part, b.names, err
}

// Missing says whether an error means that there is nothing of that name.
func Missing(err error) bool {
	return errors.Is(err, ErrUnknown) || errors.Is(err, evidence.ErrNoIncident) || errors.Is(err, evidence.ErrNoPart)
}

// readPast reads everything once and keeps the page. What the journal has is put
// together with the file's events, each once.
func readPast(path string, page int, told *diagnose.Told) (Past, error) {
	page = min(max(page, 1), MostPages)
	p := Past{Page: page, Lives: []Life{}, Events: []journal.Event{}, newest: make([]journal.Event, 0, page*PageSize)}
	s, err := datadir.StateOf(path, "")
	if err != nil && !errors.Is(err, datadir.ErrNoState) {
		return p, err
	}
	var file journal.History
	switch {
	case err == nil && told == nil:
		defer s.Close()
		var f journal.Follower
		err = f.Next(s, nil, p.add)
		p.Skipped = f.Skipped
	case err == nil:
		defer s.Close()
		file, err = journal.Read(s)
	default:
		err = nil
	}
	if told != nil {
		both := told.With(file)
		p.Skipped, p.Notes = both.Skipped, both.Notes
		for _, e := range both.Events {
			p.add(e)
		}
	}
	p.turn()
	return p, err
}

// add takes in the next event.
func (p *Past) add(e journal.Event) {
	p.live(e)
	if len(p.newest) < cap(p.newest) {
		p.newest = append(p.newest, e)
	} else {
		p.newest[p.Total%cap(p.newest)] = e
	}
	p.Total++
}

// turn takes the page out of the ring.
func (p *Past) turn() {
	p.Pages = min(max((p.Total+PageSize-1)/PageSize, 1), MostPages)
	window := p.newest
	if first := p.Total % max(cap(window), 1); p.Total > len(window) { // the oldest is first then
		window = slices.Concat(window[first:], window[:first])
	}
	slices.Reverse(window)
	if from := (p.Page - 1) * PageSize; from < len(window) {
		p.Events = slices.Clone(window[from:min(from+PageSize, len(window))])
	}
	p.newest = nil
}

// live adds an event to the lives.
func (p *Past) live(e journal.Event) {
	if e.Kind == journal.Acquired && !strings.HasPrefix(e.Detail, journal.OfCluster) {
		if len(p.Lives) == mostLives {
			p.Lives = slices.Delete(p.Lives, 0, 1)
			p.LeftOut++
		}
		p.Lives = append(p.Lives, Life{Token: e.Token, PID: e.PID, Name: e.Name, Boot: e.Boot, Start: e.Time})
		return
	}
	l := p.of(e)
	if l == nil {
		return
	}
	switch e.Kind {
	case journal.Ready:
		l.Ready = e.Time
	case journal.Restart:
		l.Restarts++
	case journal.Incident:
		l.Incidents++
	case journal.Refused:
		l.Refused += 1 + e.More
	case journal.Released, journal.Vanished, journal.Lost:
		l.End, l.How, l.Class, l.Detail = e.Time, string(e.Kind), e.Class, e.Detail
	}
}

// of finds the life that an event belongs to.
func (p *Past) of(e journal.Event) *Life {
	for i := len(p.Lives) - 1; i >= 0; i-- {
		if p.Lives[i].Token == e.Token || e.Token == 0 {
			return &p.Lives[i]
		}
	}
	return nil
}
