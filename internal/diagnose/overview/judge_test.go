package overview_test

import (
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/journal"
)

// The screen and the page judge alike: by what an operator has to do.
func TestUrgency(t *testing.T) {
	sick := &journal.Pulse{State: "unhealthy"}
	for name, c := range map[string]struct {
		change  func(*overview.Directory)
		urgency int
		service string
	}{
		"split":        {func(d *overview.Directory) { d.State = solehold.Split }, 4, ""},
		"unguarded":    {func(d *overview.Directory) { d.State, d.Problem = solehold.Unguarded, &overview.Problem{} }, 4, ""},
		"detached":     {func(d *overview.Directory) { d.State = solehold.Detached }, 4, ""},
		"unknown":      {func(d *overview.Directory) { d.State = solehold.NotKnown }, 3, ""},
		"half read":    {func(d *overview.Directory) { d.State, d.Problem = solehold.Held, &overview.Problem{} }, 3, ""},
		"sick":         {func(d *overview.Directory) { d.State, d.Health = solehold.Held, sick }, 2, "unhealthy"},
		"given up":     {func(d *overview.Directory) { d.State, d.GaveUp = solehold.Held, time.Now() }, 2, "given up"},
		"vanished":     {func(d *overview.Directory) { d.State, d.Record.Class, d.Record.PID = solehold.Free, "stale", 7 }, 2, ""},
		"held":         {func(d *overview.Directory) { d.State, d.ReadySince = solehold.Held, time.Now() }, 1, "ready"},
		"starting":     {func(d *overview.Directory) { d.State, d.Health = solehold.Held, &journal.Pulse{State: "starting"} }, 1, "starting"},
		"free":         {func(d *overview.Directory) { d.State, d.Record.Class = solehold.Free, "released" }, 0, ""},
		"free, of old": {func(d *overview.Directory) { d.State, d.Health = solehold.Free, &journal.Pulse{State: "ready"} }, 0, ""},
		"never taken":  {func(d *overview.Directory) { d.State, d.Record.Class = solehold.Free, "stale" }, 0, ""},
	} {
		var d overview.Directory
		c.change(&d)
		if d.Urgency() != c.urgency || d.Service() != c.service {
			t.Errorf("%s: %d %q", name, d.Urgency(), d.Service())
		}
	}
}
