package doctor

import (
	"slices"
	"strings"

	"github.com/solehold/solehold/internal/procfs"
)

// stuckSet is what cannot go on by itself.
type stuckSet struct {
	pids  map[int]bool
	locks map[*lock]bool
	below map[int][]int // processes that wait for another one to end, with whom
	wants map[int][]*lock
}

// stuck finds what can never go on. It begins with everything that waits, and
// takes away what can go on: a lock of which one holder does not wait, a waiter
// all of whose locks will be given back, a parent all of whose children go on.
// What is left waits for itself. A queue, however long, has a holder at its head
// that does not wait, and so nothing of it is left.
func (h *host) stuck() stuckSet {
	s := stuckSet{pids: map[int]bool{}, locks: map[*lock]bool{}, below: map[int][]int{}, wants: map[int][]*lock{}}
	for _, l := range h.locks {
		for _, w := range l.waiters {
			s.pids[w.pid] = true
			s.wants[w.pid] = append(s.wants[w.pid], h.against(w.row, w.pid)...)
		}
	}
	if len(s.pids) == 0 {
		return s
	}
	h.parents(&s)
	for _, l := range h.locks {
		s.locks[l] = len(l.holders) > 0 && !l.lease()
	}
	for h.release(&s) {
	}
	return s
}

// against are the held locks that keep a request from being granted. What the
// waiter holds itself does not, unless through another open of the file.
func (h *host) against(want procfs.Lock, pid int) []*lock {
	var all []*lock
	for _, l := range h.locks {
		if conflict(want, l.row) && (!l.heldBy(pid) || l.row.Type != "POSIX") {
			all = append(all, l)
		}
	}
	return all
}

// parents adds the processes that hold a lock while they wait for a child to
// end, and their parents who do the same.
func (h *host) parents(s *stuckSet) {
	queue := make([]int, 0, len(s.pids))
	for pid := range s.pids {
		queue = append(queue, pid)
	}
	for len(queue) > 0 {
		child := queue[0]
		queue = queue[1:]
		parent := h.process(child).stat.PPID
		if parent <= 1 || slices.Contains(s.below[parent], child) || !h.waitsForChild(parent) {
			continue
		}
		s.below[parent] = append(s.below[parent], child)
		if !s.pids[parent] {
			s.pids[parent] = true
			queue = append(queue, parent)
		}
	}
}

// waitsForChild says whether all that a process does is to wait for a child.
func (h *host) waitsForChild(pid int) bool {
	threads, err := h.proc.Threads(pid)
	if err != nil || len(threads) != 1 {
		return false
	}
	where, err := h.proc.Wchan(pid)
	return err == nil && (strings.HasPrefix(where, "do_wait") || strings.HasPrefix(where, "kernel_wait"))
}

// release takes away what can go on, one round of it, and says whether that was
// anything.
func (h *host) release(s *stuckSet) bool {
	changed := false
	for l, is := range s.locks {
		if is && slices.ContainsFunc(l.pids(), func(pid int) bool { return !s.pids[pid] }) {
			s.locks[l], changed = false, true
		}
	}
	for pid, is := range s.pids {
		if is && !s.blocked(pid) {
			s.pids[pid], changed = false, true
		}
	}
	return changed
}

// blocked says whether a process waits for something that is stuck.
func (s *stuckSet) blocked(pid int) bool {
	return slices.ContainsFunc(s.wants[pid], func(l *lock) bool { return s.locks[l] }) ||
		slices.ContainsFunc(s.below[pid], func(child int) bool { return s.pids[child] })
}

// next are the processes that a stuck process waits for.
func (s *stuckSet) next(pid int) []int {
	var all []int
	for _, l := range s.wants[pid] {
		if s.locks[l] {
			all = append(all, l.pids()...)
		}
	}
	for _, child := range s.below[pid] {
		if s.pids[child] {
			all = append(all, child)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// rings are the groups of processes that wait for each other: from each of them
// a way leads to each other one.
func (s *stuckSet) rings() [][]int {
	reach := map[int]map[int]bool{}
	var pids []int
	for pid, is := range s.pids {
		if is {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	for _, pid := range pids {
		reach[pid] = s.reachable(pid)
	}
	var all [][]int
	done := map[int]bool{}
	for _, pid := range pids {
		if done[pid] || !reach[pid][pid] {
			continue
		}
		var ring []int
		for _, other := range pids {
			if other == pid || reach[pid][other] && reach[other][pid] {
				ring = append(ring, other)
				done[other] = true
			}
		}
		all = append(all, ring)
	}
	return all
}

func (s *stuckSet) reachable(from int) map[int]bool {
	seen := map[int]bool{}
	queue := s.next(from)
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		if !seen[pid] {
			seen[pid] = true
			queue = append(queue, s.next(pid)...)
		}
	}
	return seen
}
