package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/solehold/solehold/internal/procfs"
)

// deadlocks are the rings of processes none of which can go on (SH007).
func (h *host) deadlocks() []Finding {
	s := h.stuck()
	rings := s.rings()
	if len(rings) == 0 || !h.stillWaiting(rings, s) {
		return nil
	}
	var all []Finding
	for _, ring := range rings {
		all = append(all, h.deadlock(ring, s))
	}
	return all
}

// stillWaiting looks a second time: in a deadlock nobody has moved.
func (h *host) stillWaiting(rings [][]int, s stuckSet) bool {
	rows, err := h.proc.SampleLocks(1)
	if err != nil {
		return false
	}
	waits := func(row procfs.Lock) bool {
		return slices.ContainsFunc(rows, func(r procfs.LockRow) bool {
			return slices.ContainsFunc(r.Waiters, func(w procfs.LockRow) bool { return same(w.Lock) == same(row) })
		})
	}
	for _, l := range h.locks {
		for _, w := range l.waiters {
			if !w.event && s.pids[w.pid] && !waits(w.row) {
				return false
			}
		}
	}
	return true
}

// deadlock tells one ring by its locks: who holds each, and what that one, or
// the child that it waits for, waits for.
func (h *host) deadlock(ring []int, s stuckSet) Finding {
	f := Finding{
		ID: "SH007", Severity: Outage, Confidence: h.sure(Certain),
		Advice: "stop one of them; neither can go on by itself. Then let all take these locks in one order",
	}
	var paths []string
	for _, l := range h.locks {
		if !s.locks[l] || !slices.ContainsFunc(l.pids(), func(pid int) bool { return slices.Contains(ring, pid) }) {
			continue
		}
		keeper := h.keeper(l)
		if !slices.ContainsFunc(f.Holders, func(p Process) bool { return p.PID == keeper }) {
			f.Holders = append(f.Holders, h.parties(l)[0])
		}
		f.Evidence = append(f.Evidence, line("%s holds %s, waits for %s", h.name(keeper), l.at(), h.awaitedThrough(keeper, s)))
		if h.threads(keeper) > 1 {
			f.Confidence = Likely // another of its threads may let go
		}
		paths = append(paths, l.path)
	}
	slices.Sort(paths)
	f.Title = "deadlock between " + many(len(f.Holders), "process", "processes")
	if len(paths) > 0 {
		f.Path = paths[0]
	}
	return f
}

func (h *host) threads(pid int) int {
	threads, err := h.proc.Threads(pid)
	if err != nil {
		return 1
	}
	return len(threads)
}

// awaitedThrough names what a process waits for, by itself or through a child.
func (h *host) awaitedThrough(pid int, s stuckSet) string {
	for _, l := range s.wants[pid] {
		if s.locks[l] {
			return l.at()
		}
	}
	for _, child := range s.below[pid] {
		if s.pids[child] {
			return fmt.Sprintf("%s (through its child, %s)", h.awaitedThrough(child, s), h.name(child))
		}
	}
	return "a lock"
}

// queues are the locks that somebody waits for, unless a deadlock says more (SH006).
func (h *host) queues() []Finding {
	s := h.stuck()
	var all []Finding
	for _, l := range h.locks {
		if len(l.waiters) == 0 || s.locks[l] {
			continue
		}
		f := Finding{
			ID: "SH006", Severity: Notice, Confidence: h.sure(Certain), Path: l.path,
			Title:   fmt.Sprintf("%s for a lock", many(len(l.waiters), "process waits", "processes wait")),
			Holders: h.parties(l), Waiters: h.awaiting(l), Evidence: []string{line("%s: %s", l.at(), h.held(l))},
			Advice: "wait for the holder, or look why it takes so long; nothing needs to be removed",
		}
		if len(l.holders) > 0 {
			f.Confidence = Certain
		}
		for _, w := range l.waiters {
			how := "waits in the kernel"
			if w.event {
				how = "waits for an event of the file (solehold)"
			}
			f.Evidence = append(f.Evidence, line("%s %s", h.name(w.pid), how))
		}
		if chain := h.chain(l); len(chain) > 1 {
			f.Evidence = append(f.Evidence, line("chain: %s", strings.Join(chain, " → ")))
		}
		all = append(all, f)
	}
	return all
}

// chain follows a holder that waits itself to who holds it up in the end.
func (h *host) chain(l *lock) []string {
	chain := []string{l.at()}
	seen := []*lock{l}
	for {
		keeper := h.keeper(seen[len(seen)-1])
		i := slices.IndexFunc(h.locks, func(x *lock) bool { return x.awaitedBy(keeper) })
		if keeper == 0 || i < 0 || slices.Contains(seen, h.locks[i]) {
			return chain
		}
		seen = append(seen, h.locks[i])
		chain = append(chain, fmt.Sprintf("pid %d", keeper), h.locks[i].at())
	}
}
