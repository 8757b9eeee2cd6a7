package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/evidence"
	"github.com/solehold/solehold/internal/journal"
)

// ForceRelease saves the evidence of the processes that hold the directory and
// stops them: those that the kernel shows to share its lock, each through a
// descriptor that is proven to be that process, and what runs below them. A pid
// that only a record names is never signalled. The error is an *InsideError, a
// *StillHeldError or that of a look at the directory.
func ForceRelease(ctx context.Context, f Force) (Forced, error) {
	f.Grace = cmp.Or(f.Grace, DefaultForceGrace)
	r := &forcing{f: f, taken: f.Saved}
	for range holderRounds {
		pids, err := solehold.Sharers(ctx, f.Dir, &f.Options)
		if err != nil {
			return r.done, err
		}
		if len(pids) == 0 {
			return r.done, r.outcome(ctx)
		}
		if err := r.round(ctx, pids); err != nil {
			return r.done, err
		}
	}
	return r.done, &StillHeldError{Dir: f.Dir, Why: "what holds it starts anew as often as it is stopped"}
}

// Inside reports whether this process belongs to the tree of an owner. What a
// record names counts too: it makes only a refusal.
func Inside(o solehold.Owner) bool {
	pids := holders(o)
	if o.Wrapper != 0 && !o.WrapperGone {
		pids = append(pids, o.Wrapper)
	}
	return above(pids)
}

// SaveEvidence only looks: it saves the evidence of the processes that hold the
// directory, for a ForceRelease that may follow.
func SaveEvidence(ctx context.Context, f Force) (Forced, error) {
	r := &forcing{f: f}
	pids, err := solehold.Sharers(ctx, f.Dir, &f.Options)
	if err != nil {
		return r.done, err
	}
	t := newTarget()
	defer t.close()
	t.take(pids)
	if err := r.prove(ctx, t); err != nil {
		return r.done, err
	}
	r.evidence(ctx, t)
	return r.done, nil
}

// forcing is one forced release.
type forcing struct {
	f     Force
	done  Forced
	taken bool // the evidence, or the attempt was made
}

// round stops those who share the lock now.
func (r *forcing) round(ctx context.Context, pids []int) error {
	if above(pids) {
		return &InsideError{Dir: r.f.Dir}
	}
	t := newTarget()
	defer t.close()
	t.take(pids)
	if err := r.prove(ctx, t); err != nil || len(t.grips) == 0 {
		return err
	}
	if !r.taken {
		r.taken = true
		r.evidence(ctx, t)
		// That took its time, in which they may have let go.
		if err := r.prove(ctx, t); err != nil || len(t.grips) == 0 {
			return err
		}
	}
	// Now that their descriptors are open, whose they are cannot change.
	if err := sameHolder(ctx, r.f); err != nil {
		return err
	}
	t.addBelow()
	r.tell(t)
	err := t.stop(ctx, stopping{signal: syscall.SIGTERM, grace: r.f.Grace})
	switch {
	case errors.Is(err, errDeathless):
		return &StillHeldError{Dir: r.f.Dir, Why: err.Error()}
	case errors.Is(err, fs.ErrPermission):
		return &solehold.OpError{Op: "stop its owner", Path: r.f.Dir, Reason: solehold.NotPermitted, Err: err}
	}
	return err
}

// errOtherHolder says that the holder who was meant has gone.
var errOtherHolder = errors.New("it has another holder by now, who is left alone")

// sameHolder is errOtherHolder where the directory has another holder than the
// one who is meant.
func sameHolder(ctx context.Context, f Force) error {
	if f.Token == 0 {
		return nil
	}
	s, err := solehold.Inspect(ctx, f.Dir, &f.Options)
	if err == nil && s.Token != f.Token {
		err = fmt.Errorf("%s: %w", f.Dir, errOtherHolder)
	}
	return err
}

// prove leaves only those that share the lock now that their descriptors are open.
func (r *forcing) prove(ctx context.Context, t *target) error {
	pids, err := solehold.Sharers(ctx, r.f.Dir, &r.f.Options)
	if err == nil {
		t.keep(pids)
	}
	return err
}

// evidence comes before any signal. That it cannot be had, or not be kept, is
// told and changes nothing else.
func (r *forcing) evidence(ctx context.Context, t *target) {
	whole := newTarget()
	defer whole.close()
	whole.take(t.pids())
	whole.addBelow()
	if r.f.State == nil {
		r.log(solehold.Event{Kind: journal.Incident, Detail: "no evidence: there is no place for it"})
		return
	}
	pids, token := r.ownerFirst(ctx, whole.pids())
	in, err := evidence.Take(ctx, r.f.State, evidence.Request{
		Subject: r.f.Dir, Reason: r.f.Because, Token: token, PIDs: pids, Silent: r.f.Waited, Probe: r.f.Answers,
	})
	r.done.Incident, r.done.Finding = in.ID, in.Finding
	detail := in.ID + ": " + in.Finding
	if err != nil {
		r.f.Say("the evidence is not whole: %v", err)
		detail += " (not whole: " + err.Error() + ")"
	}
	e := solehold.Event{Kind: journal.Incident, Token: token, Detail: detail}
	if len(pids) > 0 {
		e.PID = pids[0]
	}
	r.log(e)
}

// ownerFirst puts the process that the others belong to first, and tells the
// token, which only labels.
func (r *forcing) ownerFirst(ctx context.Context, pids []int) ([]int, uint64) {
	s, err := solehold.Inspect(ctx, r.f.Dir, &r.f.Options)
	if err == nil && s.Owner != nil {
		if i := slices.Index(pids, s.Owner.PID); i >= 0 {
			pids = slices.Insert(slices.Delete(pids, i, i+1), 0, s.Owner.PID)
		}
	}
	return pids, s.Token
}

// tell writes down who is stopped before it is done.
func (r *forcing) tell(t *target) {
	var names []string
	for _, pid := range t.pids() {
		command := commandOf(pid)
		names = append(names, fmt.Sprintf("pid %d (%s)", pid, solehold.CommandLine(command)))
	}
	r.done.PIDs = append(r.done.PIDs, t.pids()...)
	r.f.Say("%s: stopping %s", r.f.Dir, strings.Join(names, ", "))
	r.log(solehold.Event{Kind: journal.Forced, PID: t.pids()[0], Detail: r.f.Because + "; stopped " + strings.Join(names, ", ")})
}

func (r *forcing) log(e solehold.Event) {
	if err := r.f.Log(e); err != nil {
		r.f.Say("%v", err)
	}
}

// outcome says whether the directory is free, now that nobody is seen to hold it.
func (r *forcing) outcome(ctx context.Context) error {
	s, err := solehold.Inspect(ctx, r.f.Dir, &r.f.Options)
	switch {
	case err != nil:
		return err
	case s.State == solehold.Free, s.State == solehold.Unguarded:
		return nil
	case s.Err != nil:
		return s.Err
	}
	why := "nobody is seen who holds it"
	if s.Owner != nil {
		why = s.Owner.String()
	}
	return &StillHeldError{Dir: r.f.Dir, Why: why}
}
