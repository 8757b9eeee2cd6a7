package overview

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/diagnose/doctor"
)

// clinic lets doctor look, seldom enough: a look is at every process of the host.
type clinic struct {
	report doctor.Report
	at     time.Time
	took   time.Duration
	coming chan examined // nil when nobody looks
	begun  time.Time
}

type examined struct {
	report doctor.Report
	at     time.Time
}

// costly is how much longer than a look of doctor the pause after it is at least,
// so that it takes a four-hundredth of one processor at most; a fiftieth where the
// caller wants it sooner than by default.
const (
	costly = 400
	sooner = 50
)

// start begins a look where one is due.
func (c *clinic) start(ctx context.Context, w *Watcher) {
	times := time.Duration(costly)
	if w.o.Examine < DefaultExamine {
		times = sooner
	}
	if w.o.Examine < 0 || c.coming != nil || time.Since(c.begun) < max(w.o.Examine, times*c.took) {
		return
	}
	done := make(chan examined, 1)
	c.coming, c.begun = done, time.Now()
	o := doctor.Options{Timeout: max(w.o.Timeout, solehold.DefaultTimeout), MaxAge: w.o.MaxAge, Proc: w.proc}
	go func() {
		r := doctor.Examine(context.WithoutCancel(ctx), o)
		done <- examined{r, time.Now().UTC()}
	}()
}

// take takes in a look that is done. The first one is waited for.
func (c *clinic) take(ctx context.Context) bool {
	if c.coming == nil {
		return false
	}
	var e examined
	if c.at.IsZero() {
		select {
		case e = <-c.coming:
		case <-ctx.Done():
			return false
		}
	} else {
		select {
		case e = <-c.coming:
		default:
			return false
		}
	}
	c.report, c.at, c.coming = e.report, e.at, nil
	c.took = e.at.Sub(c.begun)
	return true
}

// tell adds to the rows what only a look at all processes shows: who writes there
// without the lock, and who waits for it.
func (c *clinic) tell(rows []Directory) {
	for i := range rows {
		d := &rows[i]
		for _, f := range c.report.Findings {
			switch {
			case f.ID == "SH030" && isAbout(f, d) && d.State == solehold.Held:
				d.State = solehold.Split
			case f.ID == "SH033" && isAbout(f, d) && d.State == solehold.Free:
				d.State = solehold.Unguarded
			case f.ID == "SH006" && isAbout(f, d):
				d.Waiters += len(f.Waiters)
				continue
			default:
				continue
			}
			d.Findings = append(d.Findings[:len(d.Findings):len(d.Findings)], f.ID+": "+f.Title)
		}
	}
}

// isAbout says whether a finding is about a directory. Its name may be that of another
// one in another container as well: so its owner must be among those whom the finding
// names.
func isAbout(f doctor.Finding, d *Directory) bool {
	if f.Path != d.Dir && !strings.HasPrefix(f.Path, d.Dir+"/"+datadir.StateName+"/") {
		return false
	}
	return d.Owner == nil || !d.Owner.Visible() || slices.ContainsFunc(f.Holders, func(p doctor.Process) bool { return p.PID == d.Owner.PID })
}
