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
	return s.ownersOf(s.frames[len(s.frames)-1])
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

// living lists the starts of which a process lives.
func (s *stage) living() []*start {
	return slices.DeleteFunc(slices.Clone(s.starts), func(x *start) bool { return !x.alive() })
}

// settle looks on until nothing changes any more: each start has ended, owns the data, or rests. It gives the owners,
// or where none can be told by what they have, those that live and do not wait.
func (s *stage) settle() ([]*start, error) {
	calm := time.Now()
	before := ""
	err := s.until(s.Limit, func(*post) bool {
		now := s.picture()
		if now != before {
			calm, before = time.Now(), now
		}
		return time.Since(calm) >= s.patience()
	})
	if err == errTooLong {
		s.remark("a round did not come to rest within %v: its last state is taken", s.Limit)
		return s.owners(), nil
	}
	if err != nil {
		return nil, err
	}
	if owners := s.owners(); len(owners) > 0 {
		return owners, nil
	}
	return s.residents(), nil
}

// patience is how long nothing must change: longer where nobody can be told to own anything, for that may come.
func (s *stage) patience() time.Duration {
	switch {
	case len(s.living()) == 0:
		return 0
	case len(s.owners()) == 0:
		return 3 * s.Settle
	}
	return s.Settle
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
		if x.pid == 0 || slices.ContainsFunc(x.members, s.eye.busy) {
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
		s.names[m.PID] = s.command(m.PID)
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
		text := fmt.Sprintf("pid %d (%s) of start %d", m.PID, s.command(m.PID), x.number)
		if !slices.Contains(s.report.Left, text) && len(s.report.Left) < 50 {
			s.report.Left = append(s.report.Left, text)
		}
	}
}

// command is the command line of a process, for people.
func (s *stage) command(pid int) string {
	line, err := s.eye.proc.Cmdline(pid)
	if err != nil || len(line) == 0 {
		st, _ := s.eye.proc.Stat(pid)
		return solehold.Printable(st.Comm)
	}
	return strings.TrimSpace(solehold.CommandLine(line))
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
