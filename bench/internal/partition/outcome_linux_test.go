package partition

import (
	"errors"
	"testing"
)

// A holder that was told, or whose command died, after the lock was given away makes two owners; an error hides no runs.
func TestSum(t *testing.T) {
	t.Parallel()
	const s = 1_000_000_000
	good := outcome{told: 4 * s, dead: 5 * s, given: 6 * s, owned: 8 * s}
	for name, c := range map[string]struct {
		outcomes []outcome
		runs     bool
		err      error
		overlaps int
		told     float64
		failed   bool
	}{
		"in time":                {[]outcome{good}, true, nil, 0, 2, false},
		"told late":              {[]outcome{good, {told: 7 * s, dead: 5 * s, given: 6 * s, owned: 8 * s}}, true, nil, 1, 0.5, false},
		"dead late":              {[]outcome{{told: 4 * s, dead: 7 * s, given: 6 * s, owned: 8 * s}}, true, nil, 1, 2, false},
		"at the same instant":    {[]outcome{{told: 6 * s, given: 6 * s}}, false, nil, 1, 0, false},
		"a peer runs no command": {[]outcome{{told: 4 * s, given: 6 * s}}, false, nil, 0, 2, false},
		"one of two did not run": {[]outcome{good}, true, errors.New("no server"), 0, 2, false},
		"nothing has run at all": {nil, true, errors.New("no server"), 0, 0, true},
	} {
		p := sum("etcd", side{name: "x", runs: c.runs}, c.outcomes, c.err)
		if failed := p.Error != ""; failed != c.failed {
			t.Errorf("%s: %+v", name, p)
			continue
		}
		if c.failed {
			continue
		}
		if p.Overlaps != c.overlaps || p.Runs != len(c.outcomes) || p.Told.Median != c.told || (p.Dead != nil) != c.runs {
			t.Errorf("%s: %+v, told %+v", name, p, p.Told)
		}
	}
}
