package overview

import (
	"strconv"
	"strings"

	"github.com/solehold/solehold"
)

// Urgency is how much a directory needs somebody to look at it: 4 where data may
// split, 3 where it cannot be told, 2 where nobody serves who should, 1 while it has
// its owner, 0 where it is free.
func (d Directory) Urgency() int {
	switch {
	case d.State == solehold.Split || d.State == solehold.Unguarded || d.State == solehold.Detached:
		return 4
	case d.Problem != nil || d.State == solehold.NotKnown:
		return 3
	case !d.GaveUp.IsZero() || d.Health != nil && d.Health.State == "unhealthy" || d.Vanished():
		return 2
	case d.State == solehold.Held:
		return 1
	}
	return 0
}

// Vanished says that nobody has it since its owner was gone without a release.
func (d Directory) Vanished() bool {
	return d.State == solehold.Free && d.Record.Class == "stale" && d.Record.PID != 0
}

// Service is how the service is, in a word; empty where that is not told.
func (d Directory) Service() string {
	switch {
	case !d.GaveUp.IsZero():
		return "given up"
	case d.State == solehold.Free:
		return ""
	case d.Health != nil:
		return d.Health.State
	case !d.ReadySince.IsZero():
		return "ready"
	}
	return ""
}

// Mentions says whether a text is in the names of the directory or of its holder,
// in any case.
func (d Directory) Mentions(text string) bool {
	all := d.Path
	if o := d.Owner; o != nil {
		all += " " + strings.Join(o.Command, " ") + " " + o.Unit + " " + strconv.Itoa(o.PID)
	}
	return strings.Contains(strings.ToLower(all), strings.ToLower(text))
}
