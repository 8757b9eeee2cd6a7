package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Sizes of the picture, in pixels.
const (
	boxHeight  = 30
	rowHeight  = 46
	columnGap  = 90
	charWidth  = 7
	boxPadding = 20
	edgeMargin = 20
	mostChars  = 46
)

// box is where a node is drawn.
type box struct {
	Node
	column, row int
	x, y, width int
}

// SVG draws the graph: who waits on the left, who holds others up on the right.
// Red is what can never go on.
func (g Graph) SVG() string {
	boxes := g.layout()
	width, height := 2*edgeMargin+220, 2*edgeMargin+boxHeight
	for _, b := range boxes {
		width, height = max(width, b.x+b.width+edgeMargin), max(height, b.y+boxHeight+edgeMargin)
	}
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="monospace" font-size="12">`+"\n", width, height, width, height)
	s.WriteString(`<title>who waits for whom</title>
<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="#555"/></marker></defs>
<rect width="100%" height="100%" fill="#fff"/>
`)
	if len(boxes) == 0 {
		fmt.Fprintf(&s, `<text x="%d" y="%d">nobody waits for a lock</text>`+"\n", edgeMargin, edgeMargin+boxHeight/2)
	}
	for _, e := range g.Edges {
		drawEdge(&s, find(boxes, e.From), find(boxes, e.To), e.Kind)
	}
	for _, b := range boxes {
		drawBox(&s, b)
	}
	s.WriteString("</svg>\n")
	return s.String()
}

func find(boxes []*box, id string) *box {
	return boxes[slices.IndexFunc(boxes, func(b *box) bool { return b.ID == id })]
}

func drawBox(s *strings.Builder, b *box) {
	fill, stroke, round := "#eef4fb", "#456", 3
	if b.Lock {
		fill, stroke, round = "#fdf6e3", "#876", 12
	}
	if b.Stuck {
		stroke = "#c00"
	}
	fmt.Fprintf(s, `<g><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="%d" fill="%s" stroke="%s" stroke-width="1.5"/><text x="%d" y="%d">%s</text></g>`+"\n",
		xmlText(b.Text), b.x, b.y, b.width, boxHeight, round, fill, stroke, b.x+boxPadding/2, b.y+19, xmlText(shortened(b.Text)))
}

// drawEdge goes from the right side to the left one; a way back bends below.
func drawEdge(s *strings.Builder, from, to *box, kind string) {
	x1, y1, x2, y2 := from.x+from.width, from.y+boxHeight/2, to.x, to.y+boxHeight/2
	bend := max(30, (x2-x1)/2)
	colour, dash := "#555", ""
	if from.Stuck && to.Stuck {
		colour = "#c00"
	}
	if kind == "child" {
		dash = ` stroke-dasharray="5 3"`
	}
	path := fmt.Sprintf("M%d %d C%d %d %d %d %d %d", x1, y1, x1+bend, y1, x2-bend, y2, x2, y2)
	if x2 < x1 { // back to the left: below both boxes
		low := max(from.y, to.y) + boxHeight + 10
		path = fmt.Sprintf("M%d %d C%d %d %d %d %d %d", from.x+from.width/2, from.y+boxHeight, from.x, low+20, to.x+to.width, low+20, to.x+to.width/2, to.y+boxHeight)
	}
	fmt.Fprintf(s, `<path d="%s" fill="none" stroke="%s"%s marker-end="url(#a)"><title>%s</title></path>`+"\n", path, colour, dash, edgeWord(kind))
}

func shortened(text string) string {
	if r := []rune(text); len(r) > mostChars {
		return string(r[:mostChars/2-1]) + "…" + string(r[len(r)-mostChars/2:])
	}
	return text
}

func xmlText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace(s)
}

// layout gives each node a column, one to the right of everything that waits for
// it, and a row near those that it is connected with.
func (g Graph) layout() []*box {
	boxes := make([]*box, 0, len(g.Nodes))
	for _, n := range g.Nodes {
		boxes = append(boxes, &box{Node: n, width: charWidth*len([]rune(shortened(n.Text))) + boxPadding})
	}
	for range len(boxes) { // a ring would push itself to the right for ever: its way back is not counted
		if !g.push(boxes) {
			break
		}
	}
	columns := map[int][]*box{}
	last := 0
	for _, b := range boxes {
		b.row = len(columns[b.column])
		columns[b.column] = append(columns[b.column], b)
		last = max(last, b.column)
	}
	for range 4 {
		for c := 0; c <= last; c++ {
			g.arrange(boxes, columns[c])
		}
	}
	x := edgeMargin
	for c := 0; c <= last; c++ {
		widest := 0
		for _, b := range columns[c] {
			b.x, b.y = x, edgeMargin+b.row*rowHeight
			widest = max(widest, b.width)
		}
		if widest > 0 {
			x += widest + columnGap
		}
	}
	return boxes
}

// push moves what is waited for to the right of who waits, one round.
func (g Graph) push(boxes []*box) bool {
	moved := false
	for _, e := range g.Edges {
		from, to := find(boxes, e.From), find(boxes, e.To)
		if to.column <= from.column && from.column+1 < len(boxes) && !g.leadsBack(e) {
			to.column, moved = from.column+1, true
		}
	}
	return moved
}

// leadsBack says whether an edge closes a ring. Of the edges of a ring those
// that go to an earlier node of the list are taken for it.
func (g Graph) leadsBack(e Edge) bool {
	index := func(id string) int { return slices.IndexFunc(g.Nodes, func(n Node) bool { return n.ID == id }) }
	from, to := g.Nodes[index(e.From)], g.Nodes[index(e.To)]
	return from.Stuck && to.Stuck && index(e.To) < index(e.From)
}

// arrange sorts a column by the middle of the rows that its nodes are connected with.
func (g Graph) arrange(boxes, column []*box) {
	middle := map[*box]float64{}
	for _, b := range column {
		sum, n := 0, 0
		for _, e := range g.Edges {
			switch b.ID {
			case e.From:
				sum, n = sum+find(boxes, e.To).row, n+1
			case e.To:
				sum, n = sum+find(boxes, e.From).row, n+1
			}
		}
		if n > 0 {
			middle[b] = float64(sum) / float64(n)
		}
	}
	slices.SortStableFunc(column, func(a, b *box) int { return cmp.Compare(middle[a], middle[b]) })
	for i, b := range column {
		b.row = i
	}
}
