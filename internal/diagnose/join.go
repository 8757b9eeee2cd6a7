package diagnose

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/journald"
)

// Story is the history of a directory from both its sources: the file, and
// systemd's journal.
type Story struct {
	// History has each event once, oldest first.
	journal.History
	// Notes say where the sources disagree, and what could not be asked.
	Notes []string
}

// key is what one event has for itself: the time since boot in nanoseconds is
// told once to both sources.
type key struct {
	boot string
	seq  int64
	kind journal.Kind
	pid  int
}

func keyOf(e journal.Event) key { return key{e.Boot, e.Seq, e.Kind, e.PID} }

// Join puts both sources together. Entries that users sent who are not trusted
// are left out: everybody may write into the journal.
func Join(file journal.History, told []journald.Entry, trusted func(uid int) bool) Story {
	s := Story{History: journal.History{Skipped: file.Skipped}}
	have := map[key]journal.Event{}
	for _, e := range file.Events {
		have[keyOf(e)] = e
	}
	seen := map[key]bool{}
	var foreign, lacking, differ int
	var more []journal.Event
	for _, t := range told {
		k := keyOf(t.Event)
		e, known := have[k]
		switch {
		case !trusted(t.UID):
			foreign++
			continue
		case seen[k]:
			continue
		case known && !same(e, t.Event):
			differ++
		case !known:
			if len(file.Events) == 0 || !t.Event.Time.Before(file.Events[0].Time) {
				lacking++ // and not only rotated away
			}
			more = append(more, t.Event)
		}
		seen[k] = true
	}
	s.Events = merge(file.Events, more)
	note := func(n int, text string) {
		if n > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf("%d events %s", n, text))
		}
	}
	note(lacking, "are in systemd's journal only: the history file was removed or changed, or could not be written")
	note(differ, "are told differently by systemd's journal; shown as the history file has them")
	note(untold(file.Events, seen), "are in the history file only, between others that systemd's journal has, too")
	note(foreign, "of systemd's journal are left out: users sent them who do not own this directory")
	return s
}

// same compares two events as they are written.
func same(a, b journal.Event) bool {
	x, errA := journal.Encode(a)
	y, errB := journal.Encode(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// merge puts more events between those of the file, whose order stays: each before
// the first later one. There are as many as the journal has.
func merge(file, more []journal.Event) []journal.Event {
	order := func(a, b journal.Event) int {
		if a.Boot == b.Boot {
			return cmp.Compare(a.Seq, b.Seq)
		}
		return a.Time.Compare(b.Time)
	}
	slices.SortStableFunc(more, order)
	all := make([]journal.Event, 0, len(file)+len(more))
	for _, e := range file {
		for len(more) > 0 && order(more[0], e) < 0 {
			all, more = append(all, more[0]), more[1:]
		}
		all = append(all, e)
	}
	return append(all, more...)
}

// untold counts events of a holder that the journal lacks although it has earlier
// and later ones of the same holder. A program with the library alone tells the
// journal nothing, and the journal forgets the oldest: neither is a disagreement.
func untold(events []journal.Event, told map[key]bool) int {
	n := 0
	pending, begun := map[uint64]int{}, map[uint64]bool{}
	for _, e := range events {
		switch {
		case e.Token == 0 || e.Kind == journal.Vanished: // that is of its successor
		case told[keyOf(e)]:
			n += pending[e.Token]
			pending[e.Token], begun[e.Token] = 0, true
		case begun[e.Token]:
			pending[e.Token]++
		}
	}
	return n
}
