package doctor

import (
	"fmt"
	"strings"
)

// Tree draws the graph as text: at the root who holds others up, below each lock
// who waits for it. A ring begins at one of its members and ends where it comes
// back to it.
func (g Graph) Tree() string {
	t := tree{g: g, drawn: map[string]bool{}}
	for _, ring := range []bool{false, true} {
		for _, n := range g.Nodes {
			if !n.Lock && !t.drawn[n.ID] && (ring || !g.waiting(n.ID)) {
				t.draw(n, "", "")
			}
		}
	}
	for _, n := range g.Nodes { // locks whose holder nobody sees
		if !t.drawn[n.ID] {
			t.draw(n, "", "")
		}
	}
	return t.b.String()
}

// waiting says whether a node waits for another one.
func (g Graph) waiting(id string) bool {
	for _, e := range g.Edges {
		if e.From == id {
			return true
		}
	}
	return false
}

// behind are the nodes that wait for this one, with the kind of the edge.
func (g Graph) behind(id string) (nodes []Node, kinds []string) {
	for _, e := range g.Edges {
		if e.To != id {
			continue
		}
		for _, n := range g.Nodes {
			if n.ID == e.From {
				nodes, kinds = append(nodes, n), append(kinds, e.Kind)
			}
		}
	}
	return nodes, kinds
}

type tree struct {
	g     Graph
	b     strings.Builder
	drawn map[string]bool
}

// draw writes a node and everything behind it. How deep it goes is bounded by
// the number of nodes, for each is drawn once.
func (t *tree) draw(n Node, first, rest string) {
	again := t.drawn[n.ID]
	t.drawn[n.ID] = true
	mark := ""
	switch {
	case again:
		mark = "  (as above)"
	case n.Stuck:
		mark = "  (deadlock)"
	}
	fmt.Fprintf(&t.b, "%s%s%s\n", first, n.Text, mark)
	if again {
		return
	}
	nodes, kinds := t.g.behind(n.ID)
	for i, next := range nodes {
		branch, below := "├─ ", "│  "
		if i == len(nodes)-1 {
			branch, below = "└─ ", "   "
		}
		t.draw(next, rest+branch+words(kinds[i]), rest+below)
	}
}

// words says an edge from the side that it leads to.
func words(kind string) string {
	switch kind {
	case "held":
		return "holds "
	case "child":
		return "is awaited by its parent, "
	}
	return "is awaited by "
}

// DOT writes the graph for Graphviz.
func (g Graph) DOT() string {
	var b strings.Builder
	b.WriteString("digraph waits {\n  rankdir=LR;\n  node [fontname=monospace];\n")
	for _, n := range g.Nodes {
		shape, colour := "box", ""
		if n.Lock {
			shape = "note"
		}
		if n.Stuck {
			colour = ", color=red"
		}
		fmt.Fprintf(&b, "  %s [shape=%s, label=\"%s\"%s];\n", n.ID, shape, quoted(n.Text), colour)
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "  %s -> %s [label=\"%s\"];\n", e.From, e.To, edgeWord(e.Kind))
	}
	b.WriteString("}\n")
	return b.String()
}

func edgeWord(kind string) string {
	switch kind {
	case "held":
		return "held by"
	case "child":
		return "waits for its child"
	}
	return "waits for"
}

// quoted is a text inside a string of DOT.
func quoted(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
}
