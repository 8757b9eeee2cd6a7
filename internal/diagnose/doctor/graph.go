package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Graph is who waits for which lock and who holds it.
type Graph struct {
	// Nodes are processes and locks.
	Nodes []Node
	// Edges lead from who waits to what is waited for, and from a lock to who holds it.
	Edges []Edge
}

// Node is a process or a lock.
type Node struct {
	// ID is unique in the graph: "p12" for a process, "l3" for a lock.
	ID string
	// Lock says that it is a lock.
	Lock bool
	// Text describes it.
	Text string
	// Stuck says that it is part of a deadlock.
	Stuck bool
}

// Edge is one arrow.
type Edge struct {
	// From is the node's id.
	From string
	// To is the node's id.
	To string
	// Kind is waits, held or child: a process that waits for another one to end.
	Kind string
}

// graph draws every lock that somebody waits for.
func (h *host) graph() Graph {
	var g Graph
	stuck := h.stuck()
	for i, l := range h.locks {
		if len(l.waiters) == 0 || !h.wanted(l) {
			continue
		}
		id := fmt.Sprintf("l%d", i)
		g.Nodes = append(g.Nodes, Node{ID: id, Lock: true, Text: line("%s %s", l.at(), l.row.Type), Stuck: stuck.locks[l]})
		for _, w := range l.waiters {
			g.add(h.node(w.pid, stuck))
			g.Edges = append(g.Edges, Edge{pidNode(w.pid), id, "waits"})
		}
		for _, pid := range l.pids() {
			if l.awaitedBy(pid) {
				continue
			}
			g.add(h.node(pid, stuck))
			g.Edges = append(g.Edges, Edge{id, pidNode(pid), "held"})
			for _, child := range stuck.below[pid] {
				if stuck.pids[child] {
					g.add(h.node(child, stuck))
					g.Edges = append(g.Edges, Edge{pidNode(pid), pidNode(child), "child"})
				}
			}
		}
	}
	slices.SortFunc(g.Edges, func(a, b Edge) int { return strings.Compare(a.From+" "+a.To+" "+a.Kind, b.From+" "+b.To+" "+b.Kind) })
	g.Edges = slices.Compact(g.Edges)
	return g
}

func pidNode(pid int) string { return fmt.Sprintf("p%d", pid) }

func (h *host) node(pid int, s stuckSet) Node {
	return Node{ID: pidNode(pid), Text: line("%s", h.name(pid)), Stuck: s.pids[pid]}
}

func (g *Graph) add(n Node) {
	if !slices.ContainsFunc(g.Nodes, func(x Node) bool { return x.ID == n.ID }) {
		g.Nodes = append(g.Nodes, n)
	}
}

// wanted says whether a lock is within what was asked for.
func (h *host) wanted(l *lock) bool {
	switch {
	case h.o.PID != 0:
		return l.heldBy(h.o.PID) || l.awaitedBy(h.o.PID)
	case len(h.paths) > 0:
		return h.asked(l.path)
	}
	return true
}
