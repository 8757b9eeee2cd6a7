package drill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// judge makes a round of what was seen in it. Only now is known which files are lock files.
func (s *stage) judge(p *play) Round {
	r := Round{Number: p.number, Began: since(s.report.Began, s.began), Took: since(s.began, time.Now())}
	for i, f := range s.frames {
		owners := s.ownersOf(f)
		for _, x := range owners {
			x.add(f, i)
		}
		if n := len(owners); n > 1 && r.Clash == nil {
			r.Clash = s.clash(f, owners)
		}
		r.Owners = max(r.Owners, len(owners))
	}
	s.successions(p)
	s.refusals(p)
	for _, x := range s.starts {
		r.Starts = append(r.Starts, s.lifeOf(x))
		for _, o := range x.owned {
			s.log = append(s.log, Event{At: since(s.began, o.from), Start: x.number, What: "owns the data", Detail: o.why})
		}
	}
	if r.Clash != nil {
		p.reasons = append([]string{r.Clash.String()}, p.reasons...)
		s.log = append(s.log, Event{At: r.Clash.At, What: "clash", Detail: r.Clash.String()})
	}
	slices.SortStableFunc(s.log, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	r.Events, r.Reasons = s.log, p.reasons
	return r
}

// add adds a frame to the times in which a start owned the data.
func (x *start) add(f frame, index int) {
	if n := len(x.owned); n > 0 && x.owned[n-1].last == index-1 {
		x.owned[n-1].to, x.owned[n-1].last = f.to, index
		return
	}
	why := f.facts[x][0]
	x.owned = append(x.owned, stretch{from: f.from, to: f.to, last: index, kind: why.kind, why: why.String()})
}

// clash says who had the data at once.
func (s *stage) clash(f frame, owners []*start) *Clash {
	c := &Clash{At: since(s.began, f.from)}
	for _, x := range owners {
		for _, fact := range f.facts[x] {
			if s.eye.counts(fact) {
				c.Owners = append(c.Owners, Owner{Start: x.number, PID: fact.pid, Command: s.names[fact.pid], Why: fact.String()})
				break
			}
		}
	}
	return c
}

// String names a few of those who were there.
func (c *Clash) String() string {
	const most = 4
	var who []string
	for _, o := range c.Owners[:min(most, len(c.Owners))] {
		who = append(who, fmt.Sprintf("pid %d (start %d) %s", o.PID, o.Start, o.Why))
	}
	if n := len(c.Owners) - most; n > 0 {
		who = append(who, fmt.Sprintf("%d more", n))
	}
	return fmt.Sprintf("%d owners at once after %.3fs: %s", len(c.Owners), c.At, strings.Join(who, "; "))
}

// successions measures from when an owner was dead and another start was there to when that one owned the data.
func (s *stage) successions(p *play) {
	var all []*start
	for _, x := range s.starts {
		if len(x.owned) > 0 {
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, func(a, b *start) int { return a.owned[0].from.Compare(b.owned[0].from) })
	for _, x := range all {
		took := x.owned[0].from.Sub(x.began)
		byLife := x.owned[0].kind == lives // when it came is not known, only that it is there
		if s.before != nil && !s.before.died.IsZero() && !byLife {
			if wait := x.owned[0].from.Sub(later(s.before.died, x.began)); wait > 0 {
				p.nexts = append(p.nexts, wait.Seconds())
			}
		}
		if s.life == 0 {
			s.life = took
		}
		s.before = x
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// refusals counts the starts that ended by themselves beside an owner.
func (s *stage) refusals(p *play) {
	for _, x := range s.starts {
		if x.byUs || x.killed || len(x.owned) > 0 || x.end == "" {
			continue
		}
		refused := &s.report.Refused
		if refused.Ends == nil {
			refused.Ends = map[string]int{}
		}
		refused.Count++
		refused.Ends[x.end]++
		refused.Slowest = max(refused.Slowest, since(x.began, x.ended))
	}
}

func (s *stage) lifeOf(x *start) Life {
	l := Life{Number: x.number, PID: x.pid, Also: x.also, Began: since(s.began, x.began), Ended: since(s.began, x.ended), End: x.end}
	if x.failed != nil {
		l.End = "not started: " + x.failed.Error()
	}
	if !x.byUs && !x.killed {
		l.Output = x.tail()
	}
	l.Owned, l.Stopped = s.spans(x.owned), s.spans(x.stopped)
	return l
}

func (s *stage) spans(all []stretch) (spans []Span) {
	for _, o := range all {
		spans = append(spans, Span{since(s.began, o.from), since(s.began, o.to)})
	}
	return spans
}

// times sums up durations in seconds.
func times(all []float64) Times {
	if len(all) == 0 {
		return Times{}
	}
	slices.Sort(all)
	return Times{Count: len(all), Median: all[len(all)/2], Slowest: all[len(all)-1]}
}
