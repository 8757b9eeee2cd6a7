package lease_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/solehold/solehold/internal/lease"
)

// stickyOut is what is taken out of the protocol.
type stickyOut struct {
	sticky lease.StickyGuard
	kept   lease.KeptGuard
	engine string // "place": the engine does not look at places; "nonce": nor at nonces
	disk   string // "lost": a broken claim stays on the disk; "late": places are written after the engine was asked
}

// stickyWorld is three directories and an engine: the first two are of two hosts, the third is empty until it gets a copy.
type stickyWorld struct {
	out    stickyOut
	now    time.Duration
	engine stickyEngine
	hosts  [3]stickyHost
	nonces int
	boots  int
	copies int
	breaks int
	best   uint64 // the highest token of an owner
	excuse bool   // two owners are somebody else's fault, until all have heard
}

type stickyEngine struct {
	held   bool
	nonce  string
	place  lease.Place
	tokens uint64
	token  uint64
	clean  bool
	any    bool
}

// stickyHost is one directory, and the run that has its lock.
type stickyHost struct {
	machine string
	boot    string
	dir     string
	disk    lease.Kept
	floor   uint64
	run     *lease.Sticky
	works   bool
	offline bool // it began without a word of the engine
	known   bool // its start found its own boot on the disk
	told    bool // that its claim is gone
	timer   time.Duration
	mail    []stickyMail
}

// stickyMail is one request on its way, or its answer on the way back.
type stickyMail struct {
	cmd    lease.Command
	at     time.Duration
	places []lease.Place
	nonce  string
	done   bool
	answer lease.Input
}

func newStickyWorld(out stickyOut) *stickyWorld {
	w := &stickyWorld{out: out, now: time.Hour, boots: 3}
	for i := range w.hosts {
		w.hosts[i] = stickyHost{machine: fmt.Sprint("m", i), boot: fmt.Sprint("b", i), dir: "d", timer: lease.Never}
	}
	w.hosts[2].machine = "" // it has no directory yet
	return w
}

func (w *stickyWorld) clone() *stickyWorld {
	c := *w
	for i := range c.hosts {
		h := &c.hosts[i]
		h.mail = slices.Clone(h.mail)
		h.disk.Places = slices.Clone(h.disk.Places)
		if h.run != nil {
			h.run = h.run.Clone()
		}
	}
	return &c
}

func (h *stickyHost) self() lease.Self {
	return lease.Self{Lock: "l", Host: h.machine, Place: lease.Place{Boot: h.boot, Dir: h.dir}}
}

// start is `run`: it judges what was kept, writes down what it is about to do, and begins.
func (w *stickyWorld) start(i int) (bool, error) {
	h := &w.hosts[i]
	if h.run != nil || h.machine == "" {
		return false, nil
	}
	me := h.self()
	h.known = slices.ContainsFunc(h.disk.Places, func(p lease.Place) bool { return p.Boot == h.boot })
	c := lease.StickyConfig{TTL: ttl, Grace: 4 * unit, Limit: 6 * unit, Floor: h.floor}
	switch h.disk.JudgeWithout(me, w.out.kept) {
	case lease.Nothing:
		w.nonces++
		h.disk = lease.Kept{Lock: me.Lock, Nonce: fmt.Sprint("n", w.nonces), Host: me.Host}
		h.told = false
	case lease.Asked:
	case lease.Ours:
		c.Token, c.Away, c.Floor, c.Settled = h.disk.Token, true, 0, h.disk.IsSettled(me.Place)
	default:
		return false, nil // refused
	}
	if w.out.disk != "late" {
		h.disk = h.disk.At(me.Place)
	}
	var err error
	if h.run, err = lease.NewSticky(c, w.now); err != nil {
		return true, err
	}
	h.run.Without(w.out.sticky)
	return true, w.give(i, lease.Input{Kind: lease.Open})
}

// give steps a run, and does what it says.
func (w *stickyWorld) give(i int, in lease.Input) error {
	h := &w.hosts[i]
	if in.Kind == lease.Tick {
		h.timer = lease.Never
	}
	for _, c := range h.run.Step(w.now, in) {
		if err := w.do(i, c); err != nil {
			return fmt.Errorf("host %d: %v: %w", i, c, err)
		}
	}
	if in.Kind == lease.Acked && h.works && h.run.Looked() {
		h.settle()
	}
	if h.run != nil && h.run.Working() && !h.works {
		h.run.Step(w.now, lease.Input{Kind: lease.Stopped}) // its word about that is for people
	}
	if h.run != nil && h.run.Ended() {
		h.run, h.mail, h.timer, h.works = nil, nil, lease.Never, false
	}
	return w.check()
}

func (h *stickyHost) settle() {
	h.disk = h.disk.Settled(h.self().Place, h.run.Token())
	h.offline = false
}

func (w *stickyWorld) do(i int, c lease.Command) error {
	h := &w.hosts[i]
	switch c.Op {
	case lease.Wake:
		h.timer = c.At
	case lease.Ask, lease.Verify, lease.Release:
		h.mail = append(h.mail, stickyMail{cmd: c, at: w.now, nonce: h.disk.Nonce, places: slices.Clone(h.disk.At(h.self().Place).Places)})
		if w.out.disk == "late" {
			h.mail[len(h.mail)-1].places = append(slices.Clone(h.disk.Places), h.self().Place)
		}
	case lease.Own:
		return w.own(i)
	case lease.Tell:
		if w.breaks == 0 && w.copies == 0 {
			return errors.New("lost by itself")
		}
		h.lose(w.out.disk)
	case lease.Reject:
		if c.Cause == lease.BecauseClaimGone {
			if w.breaks == 0 && w.copies == 0 {
				return errors.New("lost by itself")
			}
			h.lose(w.out.disk)
		}
	case lease.Kill:
		h.works = false
	}
	return nil
}

// lose forgets a claim that is not ours any more.
func (h *stickyHost) lose(out string) {
	h.told = true
	if out != "lost" {
		h.disk = lease.Kept{}
	}
}

func (w *stickyWorld) own(i int) error {
	h := &w.hosts[i]
	h.works, h.offline = true, !h.run.Looked()
	if h.offline && h.disk.Token == 0 {
		return errors.New("it begins without the engine, and has no claim")
	}
	if h.offline && !h.told && !w.ours(i) {
		w.excuse = true // an operator broke the claim of a host that could start again, or there is a copy of its machine
	}
	if !w.excuse && h.run.Token() < w.best {
		return fmt.Errorf("token %d after %d", h.run.Token(), w.best)
	}
	w.best, h.floor = max(w.best, h.run.Token()), max(h.floor, h.run.Token())
	if h.run.Looked() {
		h.settle()
	}
	return nil
}

// ours reports whether the engine has the claim of a host, at its place or one before, and nobody else can say the same.
func (w *stickyWorld) ours(i int) bool {
	h := &w.hosts[i]
	for j := range w.hosts {
		o := &w.hosts[j]
		if j != i && o.machine == h.machine && (o.boot != h.boot || !h.known) && (o.works || o.disk.Nonce == h.disk.Nonce) {
			return false // a machine that cannot be told from its copy
		}
	}
	return w.engine.held && w.engine.nonce == h.disk.Nonce && slices.Contains(h.disk.Places, w.engine.place)
}

// handle is the engine.
func (w *stickyWorld) handle(i int, m stickyMail) lease.Input {
	e, me := &w.engine, w.hosts[i].self().Place
	mine := e.held && (e.nonce == m.nonce || w.out.engine == "nonce")
	switch m.cmd.Op {
	case lease.Ask:
		switch {
		case mine:
			return lease.Input{Kind: lease.Claimed, For: m.cmd.ID, Token: e.token}
		case e.held:
			return lease.Input{Kind: lease.Refused, For: m.cmd.ID}
		}
		clean := e.clean || !e.any
		e.tokens++
		e.held, e.any, e.nonce, e.place, e.token, e.clean = true, true, m.nonce, me, e.tokens, false
		return lease.Input{Kind: lease.Claimed, For: m.cmd.ID, Token: e.token, Clean: clean}
	case lease.Verify:
		if !mine || !slices.Contains(m.places, e.place) && w.out.engine != "place" {
			return lease.Input{Kind: lease.ClaimGone, For: m.cmd.ID}
		}
		e.place = me
		return lease.Input{Kind: lease.Acked, For: m.cmd.ID}
	}
	return lease.Input{Kind: lease.Acked, For: m.cmd.ID} // that the work has ended is for people
}

// trip brings the oldest request to the engine and its answer back; only the first half where lost.
func (w *stickyWorld) trip(i int, back bool) (bool, error) {
	h := &w.hosts[i]
	if len(h.mail) == 0 {
		return false, nil
	}
	m := &h.mail[0]
	if !m.done {
		m.answer, m.done = w.handle(i, *m), true
	} else if !back {
		return false, nil
	}
	if !back {
		return true, nil
	}
	answer := m.answer
	h.mail = h.mail[1:]
	return true, w.give(i, answer)
}

// lose is a request, or an answer, that does not arrive in time.
func (w *stickyWorld) lose(i int) error {
	h := &w.hosts[i]
	m := h.mail[0]
	h.mail = h.mail[1:]
	if h.works && !(w.engine.held && w.engine.nonce == h.disk.Nonce && w.engine.place == h.self().Place) {
		w.excuse = true // it cannot be told: whoever broke the claim had to know it dead
	}
	return w.give(i, lease.Input{Kind: lease.Failed, For: m.cmd.ID})
}

// check finds what may never be.
func (w *stickyWorld) check() error {
	n := 0
	for i := range w.hosts {
		if w.hosts[i].works {
			n++
		}
	}
	if n > 1 && !w.excuse {
		return errors.New("two owners")
	}
	return nil
}

func (w *stickyWorld) key() string {
	s := fmt.Sprint(w.engine, w.excuse, w.best, w.copies, w.breaks)
	for i := range w.hosts {
		h := &w.hosts[i]
		s += fmt.Sprint("|", h.machine, h.boot, h.disk, h.floor, h.works, h.offline, h.known, h.told)
		if h.run != nil {
			s += h.run.Key()
		}
		for _, m := range h.mail {
			s += fmt.Sprint(m.cmd.Op, m.at-w.now, m.done, m.answer.Kind)
		}
	}
	return s
}
