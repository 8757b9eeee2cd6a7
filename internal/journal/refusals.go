package journal

import (
	"fmt"
	"time"
)

const (
	// RefusalsName is the small file that limits how many refusals are listed.
	RefusalsName = "refusals"
	// refusalBurst is how many refusals are listed at once.
	refusalBurst = 60
	// refusalRefill is the time after which one more may be listed.
	refusalRefill = time.Minute
)

// Refusals limits the listing of refused starters: a supervisor that tries ten
// times a second for a week must not push the rest out of the history. The
// first 60 are listed, then one a minute, each with the count of those between.
type Refusals struct {
	// Room is how many may be listed now.
	Room int
	// Hidden counts those not listed since the last that was.
	Hidden int
	// At is when Room was last filled up.
	At time.Time
}

// ParseRefusals reads the file's text. Anything unreadable counts as new.
func ParseRefusals(text []byte) Refusals {
	var r Refusals
	var at int64
	if n, _ := fmt.Sscanf(string(text), "%d %d %d", &r.Room, &r.Hidden, &at); n != 3 ||
		r.Room < 0 || r.Room > refusalBurst || r.Hidden < 0 {
		return Refusals{Room: refusalBurst}
	}
	r.At = time.Unix(at, 0)
	return r
}

// Text is the form that ParseRefusals reads, of fixed length so that a shorter
// one never leaves old digits behind.
func (r Refusals) Text() []byte {
	return fmt.Appendf(nil, "%04d %010d %011d\n", r.Room, r.Hidden, r.At.Unix())
}

// Next counts one refusal at now. list says whether it is to be listed, and
// more how many before it were not.
func (r *Refusals) Next(now time.Time) (list bool, more int) {
	gained := int(now.Sub(r.At) / refusalRefill)
	if r.At.IsZero() || gained < 0 || r.Room+gained >= refusalBurst {
		r.Room, r.At = refusalBurst, now
	} else if gained > 0 {
		r.Room, r.At = r.Room+gained, r.At.Add(time.Duration(gained)*refusalRefill)
	}
	if r.Room == 0 {
		r.Hidden++
		return false, 0
	}
	more = r.Hidden
	r.Room, r.Hidden = r.Room-1, 0
	return true, more
}
