package drill

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/solehold/solehold/internal/procfs"
)

// Mark is the variable in the environment of everything that a drill starts.
const Mark = "SOLEHOLD_DRILL"

// lookPeriod is the time between two looks at the processes; a look that takes long makes it longer.
const lookPeriod = 4 * time.Millisecond

// calmPeriod is the same where nothing has changed for long.
const calmPeriod = 5 * lookPeriod

// start is one start of the command.
type start struct {
	number  int
	also    bool
	argv    []string
	log     string
	host    *host
	pid     int // of the first process, here; 0 before
	inner   int // the same, as the cradle counts
	began   time.Time
	ended   time.Time // of the first process
	end     string
	failed  error // it could not be started
	members []procfs.Stat
	facts   []fact
	sticky  []fact // changes that were told
	settle  time.Duration
	open    map[key]seen // since when a process of it is known to have had a file open
	died    time.Time    // the last of its own processes was seen no more
	gone    time.Time    // nothing of it is left
	byUs    bool         // the end of the round has ended it
	killed  bool         // the scenario has
	strange map[int]bool // processes that the drill has put there; they do not count
	owned   []stretch
	stopped []stretch
}

type key struct {
	pid   int
	inode uint64
}

// stretch is a part of a life.
type stretch struct {
	from, to time.Time
	last     int // the last frame of it
	kind     factKind
	why      string // for people
}

// alive reports whether a process of it lives, as far as was seen.
func (x *start) alive() bool { return !x.began.IsZero() && x.gone.IsZero() }

// seen is what is known of a file that a process had open: how often, and from when to when.
type seen struct {
	times    int
	from, to time.Time
}

// often is how many looks, in the least of the time that a round needs to settle, make the difference between a file that
// is kept open and one that a script writes in passing.
const often = 4

// held reports whether a process was seen to keep a file open: that it has closed it since means that it has let go.
func (x *start) held(k key) bool {
	o := x.open[k]
	return o.times >= often && o.to.Sub(o.from) >= x.settle
}

// had notes that a process has a file open.
func (x *start) had(k key, now time.Time) {
	o := x.open[k]
	if o.times == 0 {
		o.from = now
	}
	o.times, o.to = o.times+1, now
	x.open[k] = o
}

// letGo reports whether it had a file open and has it no more.
func (x *start) letGo() bool {
	for k := range x.open {
		if x.held(k) {
			return true
		}
	}
	return false
}

// own lists the processes of a start as they were seen last, without those that the drill has put there.
func (x *start) own() []procfs.Stat {
	return slices.DeleteFunc(slices.Clone(x.members), func(m procfs.Stat) bool { return x.strange[m.PID] })
}

// stage is where one drill takes place.
type stage struct {
	Config
	ctx    context.Context
	gate   *os.File
	stderr said
	inbox  chan post
	hosts  []*host
	eye    eye
	events *changes
	work   string // for logs, and for the data directory if it is ours
	starts []*start
	frames []frame
	names  map[int]string // command lines of processes that owned something
	began  time.Time      // of the round
	log    []Event
	report *Report
	wait   time.Duration // until the next look
	stir   time.Time     // the last change, or news
	known  bool          // somebody was seen to own the data by what it has
	probe  *probe
	plain  []*host       // those that stand where the drill does
	before *start        // the last one that owned the data in an earlier round
	life   time.Duration // from a start to its owning the data, once known
}

// said is what cradles print: their last words.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to it; several cradles may at once.
func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(s.text.String())
}

// frame is a moment or a while in which the same was seen.
type frame struct {
	from, to time.Time
	facts    map[*start][]fact
}

// newStart plans a start on a host.
func (s *stage) newStart(h *host) *start {
	x := &start{number: len(s.starts) + 1, host: h, settle: s.Settle, open: map[key]seen{}, strange: map[int]bool{}}
	command := s.Command
	if len(s.Also) > 0 && x.number%2 == 0 {
		command, x.also = s.Also, true
	}
	fill := strings.NewReplacer("{dir}", s.Dir, "{n}", strconv.Itoa(x.number))
	for _, word := range command {
		x.argv = append(x.argv, fill.Replace(word))
	}
	x.log = filepath.Join(s.work, fmt.Sprintf("round-%d-start-%d.log", len(s.report.Rounds)+1, x.number))
	s.starts = append(s.starts, x)
	h.start = x
	return x
}

// release starts as many as are given in one instant.
func (s *stage) release(all ...*start) error {
	for _, x := range all {
		o := order{Do: "arm", Argv: x.argv, Log: x.log, Env: s.environment(x)}
		if err := x.host.tell.Encode(o); err != nil {
			return fmt.Errorf("a cradle does not listen: %w", err)
		}
	}
	armed := 0
	err := s.until(s.Limit, func(p *post) bool {
		if p != nil && p.What == "armed" {
			armed++
		}
		return armed == len(all)
	})
	if err != nil {
		return fmt.Errorf("the starters are not ready: %w", err)
	}
	now := time.Now()
	for _, x := range all {
		x.began, x.host.empty = now, false
	}
	s.probe.restart()
	s.note(nil, "released", fmt.Sprintf("%d starters", len(all)))
	_, err = s.gate.Write(binary.NativeEndian.AppendUint64(nil, uint64(len(all))))
	return err
}

// environment is ours, with the mark and the data directory, and without what belongs to another holder.
func (s *stage) environment(x *start) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "SOLEHOLD_") && !strings.HasPrefix(v, "SOLEHOLD_TEST")
	})
	return append(env, "SOLEHOLD_DIR="+s.Dir, fmt.Sprintf("%s=%d.%d", Mark, os.Getpid(), x.number))
}

// until looks on until done, at most for a while. done is called after each piece of news with it, and after each look
// with nil.
func (s *stage) until(limit time.Duration, done func(*post) bool) error {
	over := time.NewTimer(limit)
	defer over.Stop()
	for {
		next := time.NewTimer(s.wait)
		select {
		case p := <-s.inbox:
			next.Stop()
			if err := s.take(p); err != nil {
				return err
			}
			if done(&p) {
				return nil
			}
			continue
		case c := <-s.events.told:
			s.changed(c)
		case <-next.C:
		case <-over.C:
			next.Stop()
			return errTooLong
		case <-s.ctx.Done():
			next.Stop()
			return context.Cause(s.ctx)
		}
		next.Stop()
		s.look()
		if done(nil) {
			return nil
		}
	}
}

var errTooLong = errors.New("not in time")

// take notes what a cradle tells.
func (s *stage) take(p post) error {
	h, now := p.from, time.Now()
	x := h.start
	s.stir = now
	switch {
	case p.lost && h.cut:
		x.vanish(now)
		x.end, h.empty = "power cut", true
		s.note(x, "ended", x.end)
	case p.lost:
		return fmt.Errorf("a cradle has ended: %s", &s.stderr)
	case x == nil:
	case p.What == "started":
		x.inner, x.died = p.PID, time.Time{}
		x.pid = s.outer(h, p.PID)
		s.note(x, "started", fmt.Sprintf("pid %d", x.pid))
	case p.What == "failed":
		x.failed, x.ended, x.gone = errors.New(p.Error), now, now
		h.empty = true
		s.note(x, "not started", p.Error)
	case p.What == "exited":
		x.ended, x.end = now, fmt.Sprintf("exit %d", p.Code)
		if p.Signal != 0 {
			x.end = fmt.Sprintf("signal %d", p.Signal)
		}
		s.note(x, "ended", x.end)
	case p.What == "empty":
		h.empty = true
		x.vanish(now)
	}
	return nil
}

// vanish notes that nothing of it is left.
func (x *start) vanish(now time.Time) {
	x.gone, x.members, x.facts, x.sticky = now, nil, nil, nil
	if x.died.IsZero() {
		x.died = now
	}
}

// outer gives the number here of a process that a cradle has just started.
func (s *stage) outer(h *host, inner int) int {
	if h.place.Boot == "" {
		return inner
	}
	for _, st := range below(s.eye.proc, h.pid) {
		status, err := s.eye.proc.Status(st.PID)
		if n := len(status.NSpid); err == nil && n > 0 && status.NSpid[n-1] == inner {
			return st.PID
		}
	}
	return 0
}

// look sees what each start has, and notes who owns the data. Where more than one does, those are looked at again: what
// the first still has after the second was seen with its own, both had at once.
func (s *stage) look() {
	began := time.Now()
	s.eye.sockets.fresh = nil
	seen := map[*start][]fact{}
	for _, x := range s.starts {
		if x.alive() {
			s.see(x)
			if len(x.facts) > 0 {
				seen[x] = x.facts
			}
		}
	}
	middle := time.Now()
	if len(seen) > 1 {
		for x, before := range seen {
			s.see(x)
			both := slices.DeleteFunc(slices.Clone(before), func(f fact) bool { return !slices.Contains(x.facts, f) })
			if seen[x] = both; len(both) == 0 {
				delete(seen, x)
			}
		}
	}
	s.keep(frame{middle, middle, seen})
	s.wait = max(lookPeriod, 2*time.Since(began))
	if began.Sub(s.stir) > s.Settle {
		s.wait = max(s.wait, calmPeriod)
	}
}

// see looks at the processes of one start.
func (s *stage) see(x *start) {
	x.members = below(s.eye.proc, x.host.pid)
	x.facts = x.facts[:0:0]
	alive, now := map[int]uint64{}, time.Now()
	for _, m := range x.own() {
		alive[m.PID] = m.StartTicks
		facts, err := s.eye.facts(m)
		if err != nil && !isGone(err) {
			s.gap("not seen: " + err.Error())
		}
		for _, f := range facts {
			x.had(key{f.pid, f.inode}, now)
		}
		if len(facts) > 0 {
			s.known = true
			s.name(m.PID)
		}
		x.facts = append(x.facts, facts...)
	}
	if len(alive) > 0 {
		x.died = time.Time{}
	} else if x.died.IsZero() && x.inner != 0 {
		x.died = now
	}
	x.sticky = slices.DeleteFunc(x.sticky, func(f fact) bool {
		return alive[f.pid] == 0 || x.held(key{f.pid, f.inode})
	})
	x.facts = append(x.facts, x.sticky...)
}

// keep adds what was seen; what did not change makes the last one longer.
func (s *stage) keep(f frame) {
	if n := len(s.frames); n > 0 && maps.EqualFunc(s.frames[n-1].facts, f.facts, slices.Equal) {
		s.frames[n-1].to = f.to
		return
	}
	s.frames, s.stir = append(s.frames, f), f.from
}

// changed notes a change of a file that the kernel has told.
func (s *stage) changed(c change) {
	name, ours := s.eye.ours(c.path)
	if !ours {
		return
	}
	for _, x := range s.starts {
		if x.alive() && !x.strange[c.pid] && s.belongs(x, c.pid) {
			st, err := s.eye.proc.Stat(c.pid)
			f := fact{pid: c.pid, ticks: st.StartTicks, kind: changed, what: name, inode: c.inode}
			if err == nil && !x.held(key{c.pid, c.inode}) && !slices.Contains(x.sticky, f) {
				x.sticky = append(x.sticky, f)
			}
			return
		}
	}
}

// belongs reports whether a process lives below the cradle of a start.
func (s *stage) belongs(x *start, pid int) bool {
	return slices.ContainsFunc(x.members, func(m procfs.Stat) bool { return m.PID == pid }) ||
		slices.ContainsFunc(s.eye.proc.Ancestors(pid), func(a procfs.Stat) bool { return a.PID == x.host.pid })
}

// note writes down what happened.
func (s *stage) note(x *start, what, detail string) {
	e := Event{At: since(s.began, time.Now()), What: what, Detail: detail}
	if x != nil {
		e.Start = x.number
	}
	s.log = append(s.log, e)
}

// gap writes down once what could not be seen.
func (s *stage) gap(text string) {
	if !slices.Contains(s.report.Gaps, text) && len(s.report.Gaps) < 20 {
		s.report.Gaps = append(s.report.Gaps, text)
	}
}

func since(from, to time.Time) float64 {
	if to.IsZero() {
		return 0
	}
	return to.Sub(from).Seconds()
}

// signal reaches processes of a start, each proven to be the one that was seen.
func (s *stage) signal(x *start, which []procfs.Stat, sig unix.Signal) {
	s.note(x, "signal", fmt.Sprintf("%s to %s", unix.SignalName(sig), pids(which)))
	send(s.eye.proc, which, sig)
}

func pids(all []procfs.Stat) string {
	var text []string
	for _, m := range all {
		text = append(text, "pid "+strconv.Itoa(m.PID))
	}
	return strings.Join(text, ", ")
}
