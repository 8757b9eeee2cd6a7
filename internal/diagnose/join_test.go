package diagnose_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/journald"
)

// at makes an event of a holder at a second of a boot.
func at(boot string, second int64, kind journal.Kind, token uint64) journal.Event {
	day := map[string]int64{"a": 0, "b": 86400}[boot]
	return journal.Event{Boot: boot, Seq: second, Time: time.Unix(1e9+day+second, 0).UTC(), Kind: kind, Token: token, PID: 1}
}

func life(boot string, token uint64) []journal.Event {
	return []journal.Event{at(boot, 1, journal.Acquired, token), at(boot, 2, journal.ChildStarted, token), at(boot, 3, journal.Ready, token), at(boot, 4, journal.Released, token)}
}

func told(uid int, events ...journal.Event) (all []journald.Entry) {
	for _, e := range events {
		all = append(all, journald.Entry{Event: e, UID: uid})
	}
	return all
}

// Each event is there once, in order, whoever has it, and what the two sources
// disagree about is said.
func TestJoin(t *testing.T) {
	one, two := life("a", 1), life("b", 2)
	changed := one[2]
	changed.Detail = "changed"
	for name, c := range map[string]struct {
		file []journal.Event
		told []journald.Entry
		want int
		note string
	}{
		"nothing":          {nil, nil, 0, ""},
		"no journal":       {one, nil, 4, ""},
		"both":             {one, told(0, one...), 4, ""},
		"its owner":        {one, told(7, one...), 4, ""},
		"twice":            {one, told(0, append(one, one...)...), 4, ""},
		"only the journal": {nil, told(0, one...), 4, "4 events are in systemd's journal only"},
		"one is lacking":   {append(one[:1:1], one[2:]...), told(0, one...), 4, "1 events are in systemd's journal only"},
		"rotated away":     {two, told(0, append(one, two...)...), 8, ""},
		"vacuumed":         {append(one, two...), told(0, two...), 8, ""},
		"the beginning":    {one, told(0, one[2:]...), 4, ""},
		"the end":          {one, told(0, one[:2]...), 4, ""},
		"dropped":          {one, told(0, one[0], one[3]), 4, "2 events are in the history file only"},
		"changed":          {one, told(0, one[0], one[1], changed, one[3]), 4, "1 events are told differently"},
		"of others":        {one, told(1000, life("b", 9)...), 4, "4 events of systemd's journal are left out"},
		"changed by others": {
			one, append(told(1000, changed), told(0, one...)...), 4, "1 events of systemd's journal are left out",
		},
	} {
		s := diagnose.Join(journal.History{Events: c.file, Skipped: 3}, c.told, func(uid int) bool { return uid == 0 || uid == 7 })
		if len(s.Events) != c.want || s.Skipped != 3 {
			t.Errorf("%s: %d events, want %d", name, len(s.Events), c.want)
		}
		seen := map[string]bool{}
		for i, e := range s.Events {
			if k := fmt.Sprint(e.Boot, e.Seq); seen[k] || i > 0 && e.Time.Before(s.Events[i-1].Time) || e.Detail == "changed" {
				t.Errorf("%s: %v", name, s.Events)
			} else {
				seen[k] = true
			}
		}
		if got := strings.Join(s.Notes, "; "); c.note == "" && got != "" || !strings.HasPrefix(got, c.note) || len(s.Notes) > 1 {
			t.Errorf("%s: says %q, want %q", name, got, c.note)
		}
	}
}

// A clock that was set back does not change the order within a boot.
func TestJoinByBoot(t *testing.T) {
	file := life("a", 1)
	late := at("a", 10, journal.Refused, 0)
	late.Time = file[0].Time.Add(-time.Hour)
	if s := diagnose.Join(journal.History{Events: file}, told(0, late), func(int) bool { return true }); s.Events[4].Seq != 10 {
		t.Errorf("%v", s.Events)
	}
}

// A journal that remembers as much as it is asked for, in any order, comes out in order.
func TestJoinOfMany(t *testing.T) {
	const n = 20000
	var old, young []journal.Event
	for i := range int64(n) {
		old, young = append(old, at("a", i, journal.Refused, 0)), append(young, at("b", i, journal.Refused, 0))
	}
	slices.Reverse(old) // as they may be told
	s := diagnose.Join(journal.History{Events: young}, told(0, old...), func(int) bool { return true })
	if len(s.Events) != 2*n || !slices.IsSortedFunc(s.Events, func(a, b journal.Event) int { return a.Time.Compare(b.Time) }) {
		t.Errorf("%d events, want %d in order", len(s.Events), 2*n)
	}
}
