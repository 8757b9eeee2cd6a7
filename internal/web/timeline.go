package web

import (
	"fmt"
	"time"

	"github.com/solehold/solehold/internal/diagnose/overview"
)

// chart is the time line of lives: a row each, the newest at the top.
type chart struct {
	Bars    []bar
	Reboots []float64 // where a boot ended and the next began
	Ticks   []tick
	Height  int
	Summary string
}

type bar struct {
	X, Width float64
	End      float64 // right of it
	Y        int
	Class    string // of the style: live, released, vanished or lost
	Label    string // beside it
	Title    string
	Mark     string // a sign at its end
}

type tick struct {
	X     float64
	Label string
}

// The measures of the picture, in its own units.
const (
	chartLeft  = 90.0
	chartRight = 860.0
	chartRow   = 22
	chartTop   = 24
	mostBars   = 25
)

// draw lays out the newest lives.
func draw(lives []overview.Life, now time.Time) chart {
	lives = lives[max(0, len(lives)-mostBars):]
	if len(lives) == 0 {
		return chart{}
	}
	first := lives[0].Start
	span := max(now.Sub(first), time.Second)
	at := func(t time.Time) float64 {
		part := float64(t.Sub(first)) / float64(span)
		return chartLeft + (chartRight-chartLeft)*min(max(part, 0), 1)
	}
	c := chart{Height: chartTop + chartRow*len(lives) + 4, Summary: fmt.Sprintf("%d lives since %s", len(lives), stamp(first))}
	for i := range lives {
		l := lives[len(lives)-1-i]
		c.Bars = append(c.Bars, barOf(l, at, now))
		c.Bars[i].Y = chartTop + i*chartRow
	}
	for i := 1; i < len(lives); i++ {
		if lives[i].Boot != lives[i-1].Boot {
			c.Reboots = append(c.Reboots, at(lives[i].Start))
		}
	}
	for i := range 5 {
		t := first.Add(span * time.Duration(i) / 4)
		layout := "15:04:05"
		if span > 24*time.Hour {
			layout = "01-02 15:04"
		}
		c.Ticks = append(c.Ticks, tick{at(t), t.UTC().Format(layout)})
	}
	return c
}

// barOf is a life. One without an end that is not the last was followed by somebody
// all the same; its end is not known, and it is drawn as short as it can be.
func barOf(l overview.Life, at func(time.Time) float64, now time.Time) bar {
	b := bar{X: at(l.Start), Class: "live", Label: fmt.Sprintf("token %d", l.Token)}
	end, until := l.End, "still has it"
	if end.IsZero() {
		end = now
	} else {
		b.Class, until = l.How, l.How+" "+stamp(l.End)
	}
	switch l.How {
	case "vanished":
		b.Mark = "✕"
		until += " (" + l.Class + ")"
	case "lost":
		b.Mark = "!"
	}
	b.Width = max(at(end)-b.X, 3)
	b.End = b.X + b.Width + 4
	b.Title = fmt.Sprintf("token %d, pid %d %s: from %s, %s", l.Token, l.PID, short(60, l.Name), stamp(l.Start), until)
	return b
}
