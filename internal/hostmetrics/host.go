package hostmetrics

import (
	"context"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/docs/findings"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/exposition"
	"github.com/solehold/solehold/internal/remote"
)

// leaseTime is how long the state of one lease may take to be read.
const leaseTime = time.Second

// hostOf is a look as metrics have it.
func hostOf(ctx context.Context, h overview.Host) exposition.Host {
	e := exposition.Host{At: h.At, LeftOut: h.LeftOut}
	for _, d := range h.Directories {
		row := directoryOf(d)
		if d.Remote != nil && (d.Problem == nil || d.Problem.Kind != overview.Hung) {
			row.lease(ctx, d)
		}
		e.Directories = append(e.Directories, exposition.Directory(row))
	}
	if h.Examined.IsZero() {
		return e // that nothing is wrong would be a lie
	}
	e.Findings = map[string]int{}
	for _, id := range findings.IDs() {
		e.Findings[id] = 0
	}
	for _, f := range h.Doctor.Findings {
		e.Findings[f.ID]++
	}
	e.Gaps = len(h.Doctor.Gaps)
	for _, s := range h.Doctor.Space {
		room := &e.Disk
		if s.Memory {
			room = &e.Memory
		}
		room.Files += s.Files
		room.Bytes += s.Bytes
	}
	return e
}

// clustersOf are engines as metrics have them.
func clustersOf(all []remote.Cluster) (list []exposition.Cluster) {
	for _, c := range all {
		e := exposition.Cluster{Engine: c.Engine, Up: c.Trouble == "" && !c.Answered.IsZero(), LeftOut: c.LeftOut}
		for _, l := range c.Locks {
			e.Locks = append(e.Locks, exposition.ClusterLock{Name: l.Name, Held: l.Held(), Token: l.Token})
		}
		list = append(list, e)
	}
	return list
}

type row exposition.Directory

func directoryOf(d overview.Directory) row {
	r := row{
		Dir: d.Path, State: string(d.State), Token: d.Token, Waiters: d.Waiters, Incidents: d.Incidents,
		Held:    d.State == solehold.Held || d.State == solehold.Detached || d.State == solehold.Split,
		Stale:   d.Vanished(),
		GivenUp: !d.GaveUp.IsZero(), Unreadable: d.Problem != nil,
		Counts: exposition.Counts{
			Acquisitions: count(d.Acquired), Refusals: count(d.Refusals), Takeovers: count(d.Takeovers), Losses: count(d.Losses),
			Restarts: count(d.Restarts), Recoveries: count(d.Recoveries),
			HandOff: durations(d.HandOff), Request: durations(d.Acquire), Start: durations(d.Start),
		},
	}
	if d.Owner != nil {
		r.Since = d.Owner.Since
	}
	if p := d.Health; p != nil {
		r.Probe = &exposition.Probe{
			Well: p.Verdict != "fail" && p.State != "unhealthy", Time: p.Time, Took: time.Duration(p.Took * float64(time.Second)),
		}
	}
	return r
}

// lease adds how the lease of the owner is, unless it has not said so.
func (r *row) lease(ctx context.Context, d overview.Directory) {
	l, err := diagnose.LeaseOf(ctx, d.Path, d.Token, &solehold.Options{Timeout: leaseTime})
	if err != nil {
		return
	}
	r.Lease = &exposition.Lease{Margin: l.Margin, TTL: l.TTL}
	r.Renewals, r.EngineErrors = l.Renewals, l.Errors
}

func count(n int) uint64 { return uint64(max(n, 0)) }

func durations(d overview.Durations) exposition.Durations {
	e := exposition.Durations{Buckets: map[float64]uint64{}, Count: count(d.Count), Sum: d.Sum}
	for i, bound := range overview.Bounds() {
		e.Buckets[bound] = count(d.Buckets[i])
	}
	return e
}
