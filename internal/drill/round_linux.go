package drill

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/procfs"
)

// play is one round as a scenario sees it.
type play struct {
	*stage
	number  int
	dice    *dice
	reasons []string
	nexts   []float64 // from a death to the next owner
	healths []float64
	cuts    []float64 // from the cut of a link to the next owner
}

// fail says why the round is not good.
func (p *play) fail(format string, args ...any) {
	p.reasons = append(p.reasons, fmt.Sprintf(format, args...))
}

// owners lists the starts that own the data by what was seen last, in order.
func (s *stage) owners() []*start {
	if len(s.frames) == 0 {
		return nil
	}
	last := s.ownersOf(s.frames[len(s.frames)-1])
	return slices.DeleteFunc(last, func(x *start) bool { return !x.alive() }) // it may have ended since that look
}

func (s *stage) ownersOf(f frame) (all []*start) {
	for x, facts := range f.facts {
		if slices.ContainsFunc(facts, s.eye.counts) {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b *start) int { return cmp.Compare(a.number, b.number) })
	return all
}

// living lists the starts of which a process of their own lives, or whose end has not been told yet.
func (s *stage) living() []*start {
	return slices.DeleteFunc(slices.Clone(s.starts), func(x *start) bool {
		onlyStrange := len(x.strange) > 0 && !x.died.IsZero() && !x.ended.IsZero()
		return !x.alive() || onlyStrange
	})
}

// rest is what is seen while a round comes to rest.
type rest struct {
	calm   time.Time // since when nothing has changed
	last   string    // what has not
	owners []*start  // the last that were seen
}

// settle looks on until each start has ended, owns the data, or rests beside an owner, and gives the owners. Where none is
// seen and some live on, the whole limit is waited for one, however quiet it is: a program may take its time. Then those
// that rest and do not wait are taken for owners, unless some start of the drill has shown by what it owns.
func (s *stage) settle() ([]*start, error) {
	r := &rest{calm: time.Now()}
	s.look() // what was seen last may be long ago
	err := s.until(s.Limit, func(*post) bool {
		calm := r.look(s)
		switch {
		case len(s.living()) == 0:
			return true
		case len(s.owners()) == 0 || calm < s.Settle:
			return false
		}
		return calm >= restless*s.Settle || s.othersWait()
	})
	if err != errTooLong {
		return s.owners(), err
	}
	if len(r.owners) > 0 {
		s.remark("a round did not come to rest within %v: its last state is taken", s.Limit)
		return r.owners, nil
	}
	err = s.until(s.Limit, func(*post) bool { return r.look(s) >= restless*s.Settle || len(r.owners) > 0 })
	if err != nil && err != errTooLong {
		return nil, err
	}
	if len(r.owners) > 0 || s.known || err == errTooLong {
		return r.owners, nil
	}
	s.remark("nothing that a start has tells whether it owns the data: after the limit (%v) those are counted that live on and do not wait", s.Limit)
	return s.residents(), nil
}

// restless is how many times longer it must be quiet while a start lives that neither owns the data nor waits for a lock.
const restless = 3

// look takes in what was seen last, and gives how long nothing has changed.
func (r *rest) look(s *stage) time.Duration {
	r.owners = slices.DeleteFunc(r.owners, func(x *start) bool { return !x.alive() })
	if owners := s.owners(); len(owners) > 0 {
		r.owners = owners
	}
	if now := s.picture(); now != r.last {
		r.calm, r.last = time.Now(), now
	}
	return time.Since(r.calm)
}

// othersWait reports whether each start that lives owns the data or waits for a lock.
func (s *stage) othersWait() bool {
	owners := s.owners()
	return !slices.ContainsFunc(s.living(), func(x *start) bool {
		return !slices.Contains(owners, x) && !slices.ContainsFunc(x.own(), s.eye.waits)
	})
}

// picture is what must not change for a round to rest. A start that has not been told yet or that works is a change each
// time.
func (s *stage) picture() string {
	var text strings.Builder
	owners := s.owners()
	for _, x := range s.starts {
		owns := slices.Contains(owners, x)
		fmt.Fprint(&text, x.number, x.pid, x.alive(), owns, len(x.members), ";")
		if !x.alive() || owns {
			continue
		}
		if x.inner == 0 || slices.ContainsFunc(x.members, s.eye.busy) {
			fmt.Fprint(&text, time.Now().UnixNano())
		}
	}
	return text.String()
}

// residents lists the starts that live on without anything by which an owner is known, and do not wait for a lock. They
// are taken for owners, and it is said.
func (s *stage) residents() []*start {
	var all []*start
	now := time.Now()
	facts := map[*start][]fact{}
	for _, x := range s.living() {
		own := x.own()
		if len(own) == 0 || x.letGo() || slices.ContainsFunc(own, s.eye.waits) {
			continue
		}
		all = append(all, x)
		m := own[len(own)-1]
		s.name(m.PID)
		facts[x] = []fact{{pid: m.PID, ticks: m.StartTicks, kind: lives, what: "process"}}
	}
	if len(all) > 0 {
		s.keep(frame{now, now, facts})
	}
	return all
}

// end ends everything of some starts and waits until nothing of it is left.
func (s *stage) end(all ...*start) error {
	for _, x := range all {
		if x.alive() && !x.ended.IsZero() && len(x.strange) == 0 {
			s.leave(x)
		}
		x.byUs = x.byUs || x.ended.IsZero()
	}
	over := time.Now().Add(s.Limit)
	for {
		left := slices.DeleteFunc(slices.Clone(all), func(x *start) bool { return x.host.empty })
		if len(left) == 0 {
			return nil
		}
		for _, x := range left {
			send(s.eye.proc, below(s.eye.proc, x.host.pid), unix.SIGKILL)
		}
		if time.Now().After(over) {
			for _, x := range left {
				s.leave(x)
			}
			return fmt.Errorf("processes do not end: %s", strings.Join(s.report.Left, ", "))
		}
		err := s.until(lookPeriod*4, func(*post) bool {
			return !slices.ContainsFunc(left, func(x *start) bool { return !x.host.empty })
		})
		if err != nil && err != errTooLong && s.ctx.Err() == nil {
			return err
		}
		if s.ctx.Err() != nil {
			s.drain()
		}
	}
}

// drain takes the news that have come while the drill is being ended from outside.
func (s *stage) drain() {
	select {
	case p := <-s.inbox:
		s.take(p)
	case <-time.After(lookPeriod):
	}
}

// leave names the processes of a start that are still there.
func (s *stage) leave(x *start) {
	for _, m := range below(s.eye.proc, x.host.pid) {
		text := fmt.Sprintf("pid %d (%s) of start %d", m.PID, cmp.Or(s.command(m.PID), solehold.Printable(m.Comm)), x.number)
		if !slices.Contains(s.report.Left, text) && len(s.report.Left) < 50 {
			s.report.Left = append(s.report.Left, text)
		}
	}
}

// command is the command line of a process, for people; empty for one that ends or becomes another program just now.
func (s *stage) command(pid int) string {
	line, _ := s.eye.proc.Cmdline(pid)
	return strings.TrimSpace(solehold.CommandLine(line))
}

// name keeps the newest command line of a process: it may have become another program.
func (s *stage) name(pid int) {
	if name := s.command(pid); name != "" {
		s.names[pid] = name
	}
}

// remark adds a note once.
func (s *stage) remark(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(s.report.Notes, text) {
		s.report.Notes = append(s.report.Notes, text)
	}
}

// owner is the process of a start by which it was seen to own the data; else its first one.
func (s *stage) owner(x *start) procfs.Stat {
	for _, f := range x.facts {
		if s.eye.counts(f) {
			if i := slices.IndexFunc(x.members, func(m procfs.Stat) bool { return m.PID == f.pid }); i >= 0 {
				return x.members[i]
			}
		}
	}
	if own := x.own(); len(own) > 0 {
		return own[len(own)-1]
	}
	return procfs.Stat{PID: x.pid}
}

// tail is the end of what a start printed.
func (x *start) tail() string {
	const most = 300
	text, err := os.ReadFile(x.log)
	if err != nil {
		return ""
	}
	text = text[max(0, len(text)-most):]
	return solehold.Printable(strings.TrimSpace(strings.ToValidUTF8(string(text), "")))
}
