package overview

import (
	"slices"
	"strings"
	"time"

	"github.com/solehold/solehold/internal/journal"
)

// story is what the history of one directory adds up to. It grows by an event at
// a time, and its size does not depend on how many there were.
type story struct {
	events, restarts, recoveries, acquired, takeovers, losses, refusals int
	lastRestart, gaveUp                                                 time.Time
	handOff, acquire, start                                             Durations

	recent []journal.Event // what the report of the present holder needs
	taken  journal.Event   // the newest acquisition
	free   journal.Event   // the newest release that nobody has followed yet
	asked  journal.Event   // the oldest request that was not met yet
}

const (
	// mostRecent is how many events are kept for the report.
	mostRecent = 24
	// longest is a pause after which the next holder has not waited for it.
	longest = time.Minute
)

func (s *story) add(e journal.Event) {
	s.events++
	switch e.Kind {
	case journal.Acquired:
		s.acquisition(e)
	case journal.Vanished:
		s.takeovers++
	case journal.Lost:
		s.losses++
	case journal.Ready:
		if e.Token == s.taken.Token {
			s.start.between(s.taken, e, 24*time.Hour)
		}
	case journal.ReleaseRequested:
		if s.asked.Kind == "" {
			s.asked = e
		}
	case journal.Released:
		s.free = e
	case journal.Refused:
		s.refusals += 1 + e.More
	case journal.Recovery:
		s.recoveries++
	case journal.ChildStarted:
		s.gaveUp = time.Time{}
	case journal.Restart:
		s.restart(e)
	}
	s.keep(e)
}

func (s *story) acquisition(e journal.Event) {
	if strings.HasPrefix(e.Detail, journal.OfCluster) {
		return
	}
	s.acquired++
	s.handOff.between(s.free, e, longest)
	s.acquire.between(s.asked, e, longest)
	s.taken, s.free, s.asked, s.gaveUp = e, journal.Event{}, journal.Event{}, time.Time{}
}

func (s *story) restart(e journal.Event) {
	if strings.HasPrefix(e.Detail, journal.GivingUp) {
		s.gaveUp = e.Time
		return
	}
	s.restarts++
	s.lastRestart = e.Time
}

// between adds the time between two events of one boot; a step of the clock does
// not count, and nothing is known over a reboot.
func (d *Durations) between(a, b journal.Event, most time.Duration) {
	took := time.Duration(b.Seq - a.Seq)
	if a.Kind != "" && a.Boot == b.Boot && took >= 0 && took <= most {
		d.add(took)
	}
}

// keep remembers what the report needs: the ends of holders, and the newest of
// what can happen often.
func (s *story) keep(e journal.Event) {
	switch e.Kind {
	case journal.Acquired, journal.Released, journal.Vanished, journal.Lost:
	case journal.Ready, journal.ChildExited:
		s.recent = slices.DeleteFunc(s.recent, func(x journal.Event) bool { return x.Kind == e.Kind && x.Token == e.Token })
	case journal.Refused:
		if n := len(s.recent) - 1; n >= 0 && s.recent[n].Kind == journal.Refused {
			s.recent[n].More += 1 + e.More
			s.recent[n].Time = e.Time
			return
		}
	default:
		return
	}
	e.By, e.Host, e.Boot, e.UID = "", "", "", nil
	if len(s.recent) == mostRecent {
		s.recent = slices.Delete(s.recent, 0, 1)
	}
	s.recent = append(s.recent, e)
}

// fill copies the sums into a row.
func (s *story) fill(d *Directory) {
	d.Events, d.Restarts, d.LastRestart, d.Recoveries = s.events, s.restarts, s.lastRestart, s.recoveries
	d.GaveUp, d.Acquired, d.Takeovers, d.Losses, d.Refusals = s.gaveUp, s.acquired, s.takeovers, s.losses, s.refusals
	d.HandOff, d.Acquire, d.Start = s.handOff, s.acquire, s.start
}
