package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/evidence"
	"github.com/solehold/solehold/internal/policy"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
)

// retryStop is the time between two attempts to stop a holder that did not end.
const retryStop = 10 * time.Second

// force is what evidence and stop have in common.
func (l *lookout) force(c policy.Command) Force {
	answers, _ := l.prober.history(time.Time{})
	return Force{
		Dir: l.w.Dir, Options: l.w.Options, Grace: l.w.Grace, Because: "watch: " + c.Detail,
		Answers: answers, Saved: true, Token: l.status.Token, Log: l.role.Log, Say: l.w.Say,
	}
}

func (l *lookout) evidence(c policy.Command) {
	f := l.force(c)
	f.Waited = l.prober.silence()
	l.later(func() func() {
		said, ok := within(evidenceLimit, func() string { return l.save(f) })
		if !ok {
			said = fmt.Sprintf("no evidence: its place did not answer within %s", evidenceLimit)
		}
		return func() {
			l.w.Say("%s: %s", l.w.Dir, said)
			l.feed(policy.Input{Kind: policy.EvidenceDone, For: c.ID, Reason: c.Detail})
		}
	})
}

// save takes the evidence and tells of it.
func (l *lookout) save(f Force) string {
	if root, err := l.role.StateRoot(); err == nil {
		defer root.Close()
		f.State = root
		if id := l.saved(root, f.Token); id != "" {
			return "evidence was saved already: " + id
		}
	}
	done, err := SaveEvidence(l.ctx, f)
	if err != nil {
		return "no evidence: " + err.Error()
	}
	return "evidence: " + done.Incident + ": " + done.Finding
}

// saved names the evidence of the same holder that an earlier watch has saved not
// long ago. From cron each minute would have its own, and what the first has is
// what is asked for. Before a stop it is always taken anew.
func (l *lookout) saved(root *os.Root, token uint64) (id string) {
	const long = time.Hour // as long as a watch that goes on waits
	if !l.w.Once || l.w.Policy.OnUnhealthy != policy.UnhealthyReport || token == 0 {
		return ""
	}
	all, _ := evidence.List(root)
	for _, in := range all {
		if age := time.Since(in.Time); in.Token == token && age >= 0 && age < long {
			id = in.ID
		}
	}
	return id
}

// stop stops the holder that was judged, however long that takes. One that has
// come since is left alone: the next round judges it.
func (l *lookout) stop(c policy.Command) {
	f := l.force(c)
	l.later(func() func() {
		for said := false; ; said = true {
			err := l.stopOnce(f)
			if errors.Is(err, errOtherHolder) {
				l.w.Say("%v", err)
			}
			if err == nil || errors.Is(err, errOtherHolder) || l.patience.Err() != nil {
				break
			}
			if !said {
				l.w.Say("%v; trying again every %s", err, retryStop)
			}
			pause(l.patience, retryStop)
		}
		return func() { l.feed(policy.Input{Kind: policy.Exited, For: c.ID, TreeDead: true, Reason: c.Detail}) }
	})
}

func (l *lookout) stopOnce(f Force) error {
	if l.w.Unit == "" {
		_, err := ForceRelease(l.ctx, f)
		return err
	}
	if err := l.inUnit(f); err != nil {
		return err
	}
	if err := systemctl(l.ctx, unitLimit+l.w.Grace, "stop", l.w.Unit); err != nil {
		return err
	}
	// A holder that cannot be seen from here need not have been the unit's.
	s, err := solehold.Inspect(l.ctx, f.Dir, &f.Options)
	if err == nil && s.State == solehold.Held && s.Token == f.Token {
		err = &StillHeldError{Dir: f.Dir, Why: "stopping " + l.w.Unit + " did not end who holds it"}
	}
	return err
}

// inUnit refuses to stop a unit for what another one holds.
func (l *lookout) inUnit(f Force) error {
	if err := sameHolder(l.ctx, f); err != nil {
		return err
	}
	pids, err := solehold.Sharers(l.ctx, f.Dir, &f.Options)
	if err != nil || len(pids) == 0 {
		return err
	}
	for _, pid := range pids {
		if o := procid.OriginOf(procfs.Default(), pid); o.Unit == l.w.Unit || o.Unit == l.w.Unit+".service" {
			return nil
		}
	}
	return &StillHeldError{Dir: f.Dir, Why: fmt.Sprintf("pid %d, which holds it, does not belong to %s", pids[0], l.w.Unit)}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// roots lists the owner and who shares its lock; not known where that cannot be
// told now.
func (l *lookout) roots() (pids []int, known bool) {
	s, err := solehold.Inspect(l.ctx, l.w.Dir, &l.w.Options)
	switch {
	case err != nil, s.State == solehold.NotKnown:
		return nil, false
	case s.Owner == nil && s.State == solehold.Free:
		return nil, true
	case s.Owner == nil, !s.Owner.Visible():
		return nil, false // it may be in a container, and answer all the same
	}
	pids = append([]int{s.Owner.PID}, s.Owner.Sharing...)
	if s.Owner.Wrapper != 0 && !s.Owner.WrapperGone {
		pids = append(pids, s.Owner.Wrapper)
	}
	return pids, true
}

// members lists the processes of the holder, with what runs below them. This
// process, which serves nobody, stands for a holder that nobody has seen.
func (l *lookout) members() []int {
	roots, known := l.roots()
	if !known {
		return nil
	}
	all := append([]int{os.Getpid()}, roots...)
	for _, pid := range roots {
		for _, b := range birthsBelow(pid) {
			all = append(all, b.pid)
		}
	}
	return all
}

// belongs reports whether a process is the holder's.
func (l *lookout) belongs(pid int) bool {
	roots, _ := l.roots()
	return slices.Contains(roots, pid) || slices.ContainsFunc(ancestors(pid), func(above int) bool {
		return slices.Contains(roots, above)
	})
}
