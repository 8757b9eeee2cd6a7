package drill

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"
)

//go:embed page.html
var pageHTML string

// The picture of a round, in the units of its drawing: names on the left, then the time.
const (
	pictureLeft  = 130
	pictureWidth = 840
	rowHeight    = 16
	axisHeight   = 22
	ticks        = 4
)

// picture is the drawing of one round.
type picture struct {
	Round
	Rows   []row
	Ticks  []tick
	Height int
	Bottom int // where the axis is
	ClashX float64
}

type row struct {
	Life
	Y, TextY int
	Bar      bar
	Owned    []bar
	Beside   []bar // the parts of Owned with another owner there
	Stopped  []bar
	Title    string // for whoever points at it
}

type bar struct{ X, W float64 }

type tick struct {
	X    float64
	Text string
}

// WritePage writes one self-contained page about some drills: a time line for each round, readable on paper as well.
func WritePage(w io.Writer, reports []Report) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"picture": draw, "short": short, "summary": summary,
	}).Parse(pageHTML)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, reports); err != nil {
		return err
	}
	_, err = w.Write(text.Bytes())
	return err
}

// draw places the lives of a round.
func draw(r Round) picture {
	p := picture{Round: r, Bottom: len(r.Starts)*rowHeight + 4}
	p.Height = p.Bottom + axisHeight
	scale := pictureWidth / max(r.Took, 0.001)
	at := func(t float64) float64 { return pictureLeft + min(max(t, 0), r.Took)*scale }
	place := func(s Span) bar { return bar{at(s.From), max(at(s.To)-at(s.From), 1.5)} }
	for i, l := range r.Starts {
		end := l.Ended
		if end == 0 {
			end = r.Took
		}
		for _, s := range l.Owned {
			end = max(end, s.To) // its first process may end before what it brought forth
		}
		x := row{Life: l, Y: i*rowHeight + 2, TextY: i*rowHeight + 13, Bar: place(Span{l.Began, end})}
		for _, s := range l.Owned {
			x.Owned = append(x.Owned, place(s))
		}
		for _, s := range beside(r, i) {
			x.Beside = append(x.Beside, place(s))
		}
		for _, s := range l.Stopped {
			x.Stopped = append(x.Stopped, place(s))
		}
		x.Title = fmt.Sprintf("start %d, pid %d: %s to %s %s", l.Number, l.PID, short(l.Began), short(end), l.End)
		p.Rows = append(p.Rows, x)
	}
	for i := range ticks + 1 {
		t := r.Took * float64(i) / ticks
		p.Ticks = append(p.Ticks, tick{at(t), short(t)})
	}
	if r.Clash != nil {
		p.ClashX = at(r.Clash.At)
	}
	return p
}

// beside gives the times in which a start owned the data while another one did.
func beside(r Round, index int) (spans []Span) {
	if r.Clash == nil {
		return nil
	}
	for i, other := range r.Starts {
		for _, b := range other.Owned {
			for _, a := range r.Starts[index].Owned {
				if s := (Span{max(a.From, b.From), min(a.To, b.To)}); i != index && s.From <= s.To {
					spans = append(spans, s)
				}
			}
		}
	}
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	merged := spans[:0]
	for _, s := range spans {
		if n := len(merged); n > 0 && s.From <= merged[n-1].To {
			merged[n-1].To = max(merged[n-1].To, s.To)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// short is a time for a label.
func short(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return fmt.Sprintf("%.2fs", seconds)
}

// summary is one line about a drill.
func summary(r Report) string {
	good := 0
	for _, round := range r.Rounds {
		if round.Owners <= 1 {
			good++
		}
	}
	return fmt.Sprintf("%d at once at most; not more than one in %d of %d rounds", r.Owners, good, len(r.Rounds))
}
