package diagnose

import (
	"bytes"
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
	s := Story{History: journal.History{Events: slices.Clone(file.Events), Skipped: file.Skipped}}
	have := map[key]journal.Event{}
	for _, e := range file.Events {
		have[keyOf(e)] = e
	}
	seen := map[key]bool{}
	var foreign, lacking, differ int
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
			s.insert(t.Event)
		}
		seen[k] = true
	}
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

// insert puts an event before the first later one.
func (s *Story) insert(e journal.Event) {
	at := slices.IndexFunc(s.Events, func(o journal.Event) bool {
		if o.Boot == e.Boot {
			return o.Seq > e.Seq
		}
		return o.Time.After(e.Time)
	})
	if at < 0 {
		at = len(s.Events)
	}
	s.Events = slices.Insert(s.Events, at, e)
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
