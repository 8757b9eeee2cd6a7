package policy_test

import (
	"flag"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/solehold/solehold/internal/policy"
)

var states = flag.Int("states", 6_000, "how many states each search sees; 10000000 is all")

// act is one thing that can happen in a world.
type act struct {
	name string
	when time.Duration // after the time of the world
	in   func(w *world) policy.Input
	late func(w *world) time.Duration // if the time depends on the world
}

// acts gives everything that can happen, the wrong and the late included.
func acts(mode policy.Mode) []act {
	all := []act{
		{name: "begin", in: simple(policy.Begin)},
		{name: "wake", in: simple(policy.Tick), late: func(w *world) time.Duration { return w.wake }},
		{name: "tick early", in: simple(policy.Tick)},
		{name: "tick before", in: simple(policy.Tick), when: -20 * time.Second},
		{name: "tick late", in: simple(policy.Tick), when: 20 * time.Second},
		{name: "stop", in: simple(policy.StopRequested)},
		{name: "gap", in: simple(policy.ClockGap)},
		{name: "reset", in: simple(policy.Reset)},
		{name: "evidence", in: func(w *world) policy.Input { return policy.Input{Kind: policy.EvidenceDone, For: w.evidence} }},
		{name: "evidence of before", in: func(w *world) policy.Input {
			return policy.Input{Kind: policy.EvidenceDone, For: other(w.lastEvidence, w.evidence)}
		}},
	}
	for _, v := range []policy.Verdict{policy.Unknown, policy.OK, policy.Slow, policy.Fail} {
		all = append(all, act{name: "probe " + v.String(), in: func(w *world) policy.Input { return result(w.probe, v) }})
	}
	for _, v := range []policy.Verdict{policy.OK, policy.Fail} {
		all = append(all, act{name: "stale probe " + v.String(), in: func(w *world) policy.Input { return result(w.old, v) }})
	}
	all = append(all, act{name: "late probe fail", when: 20 * time.Second, in: func(w *world) policy.Input { return result(w.probe, policy.Fail) }})
	all = append(all, lifeActs()...)
	if mode == policy.Watch {
		all = append(all, lockActs()...)
	}
	return all
}

func lifeActs() []act {
	exit := func(name string, code int, dead bool) act {
		return act{name: name, in: func(w *world) policy.Input {
			return policy.Input{Kind: policy.Exited, For: w.life, Exit: policy.Exit{Code: code}, TreeDead: dead}
		}}
	}
	stale := func(k policy.Kind) act {
		return act{name: "stale " + k.String(), in: func(w *world) policy.Input {
			return policy.Input{Kind: k, For: other(w.lastLife, w.life), TreeDead: true, Exit: policy.Exit{Code: 7}}
		}}
	}
	return []act{
		{name: "started", in: func(w *world) policy.Input { return policy.Input{Kind: policy.ChildStarted, For: w.life} }},
		{name: "ready", in: func(w *world) policy.Input { return policy.Input{Kind: policy.ChildReady, For: w.life} }},
		stale(policy.ChildStarted), stale(policy.Exited),
		exit("exit 0", 0, true), exit("exit 1", 1, true), exit("leader exit 1", 1, false),
	}
}

func lockActs() []act {
	look := func(l policy.Lock, holder uint64) act {
		return act{name: fmt.Sprintf("lock %v %d", l, holder), in: func(*world) policy.Input {
			return policy.Input{Kind: policy.LockState, Lock: l, Holder: holder}
		}}
	}
	return []act{
		look(policy.LockFree, 0), look(policy.LockHeld, 1), look(policy.LockHeld, 2), look(policy.LockUnknown, 0), look(policy.LockDanger, 0),
		{name: "given up elsewhere", in: func(*world) policy.Input {
			return policy.Input{Kind: policy.LockState, Lock: policy.LockFree, GivenUp: true}
		}},
	}
}

func simple(k policy.Kind) func(*world) policy.Input {
	return func(*world) policy.Input { return policy.Input{Kind: k} }
}

func result(id uint64, v policy.Verdict) policy.Input {
	return policy.Input{Kind: policy.ProbeResult, For: id, Verdict: v}
}

// other gives id, or an ID that nobody has if it is the one in use.
func other(id, used uint64) uint64 {
	if id == used {
		return 1 << 40
	}
	return id
}

// do lets a happen.
func (a act) do(w *world) error {
	at := w.now + a.when
	if a.late != nil {
		at = a.late(w)
	}
	_, err := w.step(at, a.in(w))
	return err
}

// node is a state that was reached, and how.
type node struct {
	before int // in the list of nodes
	act    int
}

// searched is what a search found.
type searched struct {
	nodes int
	depth int   // to which every order was tried
	whole bool  // there are no more states
	found error // the first thing that may not happen, with the way to it
}

// searcher goes breadth first through all that can happen.
type searcher struct {
	acts  []act
	seed  maphash.Seed
	seen  map[uint64]bool
	nodes []node
	next  []place
	check func(*world) error
}

// place is a world that was reached.
type place struct {
	w world
	n int // its node
}

// search tries all orders of everything that can happen in w, until it has seen so many states or all of them.
func search(w *world, most int, check func(*world) error) searched {
	s := searcher{acts: acts(w.cfg.Mode), seed: maphash.MakeSeed(), seen: map[uint64]bool{}, nodes: []node{{-1, 0}}, check: check}
	level := []place{{*w, 0}}
	for depth := 0; ; depth++ {
		for _, p := range level {
			if err := s.all(p); err != nil {
				return searched{len(s.nodes), depth, false, fmt.Errorf("%w\n%s", err, way(s.nodes, s.acts))}
			}
			if len(s.nodes) >= most {
				return searched{len(s.nodes), depth, false, nil}
			}
		}
		if level, s.next = s.next, nil; len(level) == 0 {
			return searched{len(s.nodes), depth, true, nil}
		}
	}
}

// all does everything that can happen in p.
func (s *searcher) all(p place) error {
	before := p.w.key()
	for i, a := range s.acts {
		if a.late != nil && p.w.wake == policy.Never {
			continue
		}
		child := p.w
		err := a.do(&child)
		after := child.key()
		if err == nil && after == before {
			continue
		}
		k := maphash.Comparable(s.seed, after)
		if err == nil && s.seen[k] {
			continue
		}
		s.seen[k] = true
		s.nodes = append(s.nodes, node{p.n, i})
		if err == nil {
			err = s.check(&child)
		}
		if err != nil {
			return err
		}
		s.next = append(s.next, place{child, len(s.nodes) - 1})
	}
	return nil
}

// way gives the acts that lead to the last node.
func way(nodes []node, all []act) string {
	var names []string
	for i := len(nodes) - 1; i > 0; i = nodes[i].before {
		names = append(names, all[nodes[i].act].name)
	}
	slices.Reverse(names)
	return "after: " + strings.Join(names, ", ")
}
