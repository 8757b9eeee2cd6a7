package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/solehold/solehold/internal/lease"
)

// Sticker is what an engine does for sticky claims: those without a lease, which nobody gets without an operator's break.
// Each method is one request, bounded by its context also while the engine is silent.
type Sticker interface {
	Operator
	// Stick makes a sticky claim if nobody has the lock, in one transaction, with the record beside it. With the nonce of a
	// sticky claim that is there it gives that claim again, with Clean false. A refused one writes nothing.
	Stick(ctx context.Context, r Request) (Grant, error)
	// Note replaces the text beside a sticky claim if the claim is there by nonce and token, and that text is still from.
	// ErrNotThere says that it is not so: look again.
	Note(ctx context.Context, c Claim, from, to string) error
}

// StuckBy is the answer to who wanted a sticky claim of a lock that is held by this text.
func StuckBy(r Request, key, text string, token uint64) (Grant, error) {
	there, err := ParseRecord(text)
	if err == nil && there.Sticky && there.Nonce == r.Nonce {
		return Grant{Token: token, Delay: r.Delay}, nil
	}
	return Grant{}, HeldBy(r.Name, key, text, token)
}

// Beside reports whether a text is what lies beside a claim of this nonce: it has it too, from the claim's first transaction.
func Beside(c Claim, text string) bool {
	r, err := ParseRecord(text)
	return err == nil && r.Nonce == c.Nonce
}

// ErrNoSticky says that an engine has no sticky claims.
var ErrNoSticky = errors.New("has no sticky claims")

// StickyOptions say how a sticky claim is had.
type StickyOptions struct {
	// TTL, Grace, Info, Clock and FailStop are as in Options: the claim is looked at each TTL/5. Delay is at least TTL.
	TTL, Grace, Delay time.Duration
	Info              string
	Clock             Clock
	FailStop          func(name string, token uint64)
	// Nonce is what was written down before this call; a claim that is there with it is ours. Token is that of a claim that
	// was owned in an earlier start, or 0.
	Nonce string
	Token uint64
	// Place is where we are, and Places are where this claim may have been taken on before, by us.
	Place  string
	Places []string
	// Settled says that nobody can have had the claim of Token but this place; Away that its owner may begin without a
	// word of the engine, when Limit has passed.
	Settled, Away bool
	Limit         time.Duration
	// Floor is the highest token that the data has seen; a new claim's is above it.
	Floor uint64
	// OnDelay is called when the lock-delay is waited out, OnSettled when the engine has said that the claim is ours, at
	// this place, OnFailed for each request that it has failed. They must not block.
	OnDelay   func(time.Duration)
	OnSettled func()
	OnFailed  func(error)
}

// seenEach is how old the note of a holder gets before it writes a new one.
const seenEach = time.Minute

// Sticky is a sticky claim that is held. It is a Lease whose Release leaves the claim at the engine: it is the host's, for
// its next start, until an operator breaks it.
type Sticky struct {
	b     Sticker
	o     StickyOptions
	name  string
	timer Timer

	decided chan error
	killed  chan struct{}
	done    chan struct{}
	ctx     context.Context // the holder's
	cancel  context.CancelCauseFunc
	life    context.Context // of requests
	quit    context.CancelFunc

	mu    sync.Mutex
	m     *lease.Sticky
	token uint64
	why   error // why it is refused or gone
	last  error // the last answer that said nothing
	noted time.Time
}

// Stick takes the sticky claim of a lock, or takes it on from an earlier start. A *HeldError says that somebody has the
// lock, a *LostError that the claim of Token is gone. When ctx ends it returns; a claim that was made by then stays.
func Stick(ctx context.Context, b Backend, name string, o StickyOptions) (*Sticky, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	s, err := newSticky(ctx, b, name, o)
	if err != nil {
		return nil, err
	}
	s.step(lease.Input{Kind: lease.Open})
	select {
	case err := <-s.decided:
		if err != nil {
			<-s.done // a claim that is not used may be on its way back: a fifth of the time to live at most
			return nil, err
		}
		return s, nil
	case <-ctx.Done():
	}
	s.step(lease.Input{Kind: lease.Cancel})
	select {
	case err := <-s.decided:
		if err == nil {
			return s, nil
		}
	default:
	}
	return nil, fmt.Errorf("lock %q: %w", name, context.Cause(ctx))
}

func newSticky(ctx context.Context, b Backend, name string, o StickyOptions) (*Sticky, error) {
	engine, ok := b.(Sticker)
	if !ok {
		return nil, fmt.Errorf("%s %w", b.Traits().Engine, ErrNoSticky)
	}
	if o.Clock == nil {
		o.Clock = SystemClock()
	}
	if o.TTL == 0 {
		o.TTL = DefaultTTL
	}
	o.Delay = max(o.Delay, o.TTL)
	s := &Sticky{
		b: engine, o: o, name: name, token: o.Token,
		decided: make(chan error, 1), killed: make(chan struct{}), done: make(chan struct{}),
	}
	var err error
	if s.m, err = lease.NewSticky(lease.StickyConfig{
		TTL: o.TTL, Grace: o.Grace, Delay: o.Delay, Limit: o.Limit, Token: o.Token, Settled: o.Settled, Away: o.Away, Floor: o.Floor,
	}, o.Clock.Now()); err != nil {
		return nil, err
	}
	if s.timer, err = o.Clock.Timer(func() { s.step(lease.Input{Kind: lease.Tick}) }); err != nil {
		return nil, fmt.Errorf("cannot keep the times of a sticky claim: %w", err)
	}
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	s.life, s.quit = context.WithCancel(context.Background())
	return s, nil
}

func (s *Sticky) step(in lease.Input) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stepLocked(in)
}

// stepLocked carries out what the machine says. Nothing here blocks.
func (s *Sticky) stepLocked(in lease.Input) {
	for _, c := range s.m.Step(s.o.Clock.Now(), in) {
		switch c.Op {
		case lease.Wake:
			s.timer.Set(c.At)
		case lease.Ask, lease.Verify, lease.Release:
			go s.request(c)
		case lease.Own:
			s.decided <- nil
		case lease.Reject:
			s.decided <- s.reason(c.Cause)
		case lease.Tell:
			s.cancel(s.why)
		case lease.Kill:
			close(s.killed)
		case lease.FailStop:
			if s.o.FailStop != nil {
				s.o.FailStop(s.name, s.token)
			}
		case lease.End:
			close(s.done)
			s.timer.Stop()
			s.quit()
		}
	}
}

// reason makes an error of a cause.
func (s *Sticky) reason(c lease.Cause) error {
	switch {
	case c == lease.BecauseToken:
		return fmt.Errorf("lock %q: token %d after %d: %w", s.name, s.token, s.o.Floor, ErrToken)
	case c == lease.BecauseCancelled:
		return context.Canceled
	case c == lease.BecauseUngranted && s.last != nil:
		return fmt.Errorf("lock %q: the engine %w: %w", s.name, ErrSilent, s.last)
	case s.why != nil:
		return s.why
	}
	return fmt.Errorf("lock %q: the engine %w", s.name, ErrSilent)
}

// request asks the engine, and steps the machine with the answer. An answer that is not there in TTL/5 says nothing.
func (s *Sticky) request(c lease.Command) {
	ctx, cancel := context.WithTimeout(s.life, s.o.TTL/5)
	defer cancel()
	var in lease.Input
	var err error
	switch {
	case c.Op == lease.Ask:
		in, err = s.ask(ctx)
	case c.Op == lease.Verify:
		in, err = s.look(ctx, false)
	case c.Clean:
		in, err = s.look(ctx, true)
	default:
		in.Kind = lease.Acked
		err = s.b.Break(ctx, s.name, c.Token, "by its maker: a token that does not rise")
	}
	if in.For = c.ID; err != nil {
		in = lease.Input{Kind: lease.Failed, For: c.ID}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard(c, err, in.Kind == lease.Acked)
	s.stepLocked(in)
}

// heard tells whoever wants to know what an answer says. Before the first one a claim that is not settled is waited for.
func (s *Sticky) heard(c lease.Command, err error, acked bool) {
	switch {
	case err != nil && s.life.Err() == nil:
		s.last = err
		if s.o.OnFailed != nil {
			s.o.OnFailed(err)
		}
	case acked && c.Op == lease.Verify:
		if !s.m.Looked() && s.o.Token != 0 && !s.o.Settled && s.o.OnDelay != nil {
			s.o.OnDelay(s.o.Delay)
		}
		if s.o.OnSettled != nil {
			s.o.OnSettled()
		}
	}
}

func (s *Sticky) ask(ctx context.Context) (lease.Input, error) {
	g, err := s.b.Stick(ctx, Request{
		Name: s.name, Nonce: s.o.Nonce, Delay: s.o.Delay, Info: s.o.Info, Place: s.o.Place, Since: Moment(time.Now()),
	})
	var held *HeldError
	if err != nil && !errors.As(err, &held) {
		return lease.Input{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if held != nil {
		s.why = held
		return lease.Input{Kind: lease.Refused}, nil
	}
	if s.token = g.Token; !g.Clean && s.o.OnDelay != nil {
		s.o.OnDelay(max(s.o.Delay, g.Delay))
	}
	return lease.Input{Kind: lease.Claimed, Token: g.Token, Clean: g.Clean, Delay: g.Delay}, nil
}

// look asks whether the claim is ours, takes it on for this place, and writes down once in a while that we are here.
func (s *Sticky) look(ctx context.Context, ended bool) (lease.Input, error) {
	acked := lease.Input{Kind: lease.Acked}
	all, err := s.seen(ctx)
	if err != nil {
		return acked, err
	}
	var seen Seen
	if len(all) > 0 {
		seen = all[0]
	}
	if why := s.gone(seen); why != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.why = &LostError{Name: s.name, Token: s.token, Why: why}
		return lease.Input{Kind: lease.ClaimGone}, nil
	}
	now := time.Now()
	s.mu.Lock()
	due := now.Sub(s.noted) >= seenEach
	s.mu.Unlock()
	if seen.Place == s.o.Place && !due && !ended {
		return acked, nil
	}
	note := Record{Format: format, Nonce: s.o.Nonce, DelayMS: s.o.Delay.Milliseconds(), Info: s.o.Info, Sticky: true, Since: seen.Since, Place: s.o.Place, Seen: Moment(now), Ended: ended}
	if err := s.b.Note(ctx, Claim{Name: s.name, Nonce: s.o.Nonce, Token: s.token}, seen.Note, note.Text()); err != nil {
		return acked, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noted = now
	return acked, nil
}

func (s *Sticky) seen(ctx context.Context) ([]Seen, error) {
	if m, ok := s.b.(interface {
		look(ctx context.Context, name string) ([]Seen, error)
	}); ok {
		return m.look(ctx, s.name) // the engine in memory, whose Look meets no faults
	}
	return s.b.Look(ctx, s.name)
}

// gone says why a claim is not ours; "" where it is.
func (s *Sticky) gone(seen Seen) string {
	switch {
	case seen.Held && (!seen.Sticky || seen.Nonce != s.o.Nonce || seen.Token != s.token):
		return fmt.Sprintf("the claim was broken or lost at the engine, and another has the lock: %.200q, token %d", seen.Info, seen.Token)
	case !seen.Held && seen.Broken != "":
		return "the claim was broken " + seen.Broken
	case !seen.Held:
		return "the engine does not have the claim any more: it was removed, or the engine has lost its data"
	case seen.Place != s.o.Place && !slices.Contains(s.o.Places, seen.Place):
		return "a copy of this directory has taken the claim on, in another boot or place"
	}
	return ""
}

// Name is the lock.
func (s *Sticky) Name() string { return s.name }

// Token is the fencing token.
func (s *Sticky) Token() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// Verified reports whether the engine has said, since this call of Stick, that the claim is ours.
func (s *Sticky) Verified() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m.Looked()
}

// Context is cancelled when the engine has said that the claim is gone.
func (s *Sticky) Context() context.Context { return s.ctx }

// Check returns nil while the engine has not said that the claim is gone.
func (s *Sticky) Check() error { return context.Cause(s.ctx) }

// Killed is closed when the work must be killed.
func (s *Sticky) Killed() <-chan struct{} { return s.killed }

// Release says that the work has ended. The claim stays; that the engine could not be told is no error.
func (s *Sticky) Release(ctx context.Context) error {
	s.step(lease.Input{Kind: lease.Stopped})
	select {
	case <-s.done:
	case <-ctx.Done():
		s.quit()
	}
	s.cancel(context.Canceled)
	return nil
}
