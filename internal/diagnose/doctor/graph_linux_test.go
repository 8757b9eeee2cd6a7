package doctor_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/diagnose/doctor"
)

// queue is a graph of a lock with n waiters.
func queue(n int) doctor.Graph {
	g := doctor.Graph{
		Nodes: []doctor.Node{{ID: "l0", Lock: true, Text: "/srv/lock FLOCK"}, {ID: "p1", Text: "pid 1 (holder)"}},
		Edges: []doctor.Edge{{From: "l0", To: "p1", Kind: "held"}},
	}
	for i := range n {
		id := fmt.Sprintf("p%d", i+2)
		g.Nodes = append(g.Nodes, doctor.Node{ID: id, Text: fmt.Sprintf("pid %d (waiter <&\"' with a long command line that does not fit)", i+2)})
		g.Edges = append(g.Edges, doctor.Edge{From: id, To: "l0", Kind: "waits"})
	}
	return g
}

// ring is two processes that wait for each other.
func ring() doctor.Graph {
	return doctor.Graph{
		Nodes: []doctor.Node{
			{ID: "l0", Lock: true, Text: "/srv/a", Stuck: true},
			{ID: "p1", Text: "pid 1", Stuck: true},
			{ID: "p2", Text: "pid 2", Stuck: true},
			{ID: "l1", Lock: true, Text: "/srv/b", Stuck: true},
		},
		Edges: []doctor.Edge{
			{From: "p1", To: "l0", Kind: "waits"},
			{From: "l0", To: "p2", Kind: "held"},
			{From: "p2", To: "l1", Kind: "waits"},
			{From: "l1", To: "p1", Kind: "held"},
		},
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	want := `pid 1 (holder)
└─ holds /srv/lock FLOCK
   ├─ is awaited by pid 2 (waiter <&"' with a long command line that does not fit)
   └─ is awaited by pid 3 (waiter <&"' with a long command line that does not fit)
`
	if got := queue(2).Tree(); got != want {
		t.Errorf("%s", got)
	}
	want = `pid 1  (deadlock)
└─ holds /srv/b  (deadlock)
   └─ is awaited by pid 2  (deadlock)
      └─ holds /srv/a  (deadlock)
         └─ is awaited by pid 1  (as above)
`
	if got := ring().Tree(); got != want {
		t.Errorf("%s", got)
	}
	if got := (doctor.Graph{}).Tree(); got != "" {
		t.Errorf("%q", got)
	}
}

func TestDOT(t *testing.T) {
	t.Parallel()
	got := queue(1).DOT()
	for _, want := range []string{"digraph waits {", `l0 [shape=note, label="/srv/lock FLOCK"];`, `waiter <&\"' with`, `p2 -> l0 [label="waits for"];`, `l0 -> p1 [label="held by"];`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if !strings.Contains(ring().DOT(), "color=red") {
		t.Error("a ring is not red")
	}
}

// rect is a box of the picture.
type rect struct {
	X      int    `xml:"x,attr"`
	Y      int    `xml:"y,attr"`
	Width  string `xml:"width,attr"`
	Height string `xml:"height,attr"`
}

func (r rect) size(t *testing.T) (w, h int) {
	t.Helper()
	if _, err := fmt.Sscan(r.Width+" "+r.Height, &w, &h); err != nil {
		t.Fatal(err)
	}
	return w, h
}

// The picture is XML, and at 40 nodes no box lies on another one or outside.
func TestSVG(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]doctor.Graph{"queue": queue(38), "ring": ring(), "empty": {}} {
		text := g.SVG()
		for d := xml.NewDecoder(strings.NewReader(text)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v in %s", name, err, text)
			}
		}
		var picture struct {
			Width  int `xml:"width,attr"`
			Height int `xml:"height,attr"`
			Groups []struct {
				Rect rect   `xml:"rect"`
				Text string `xml:"text"`
			} `xml:"g"`
		}
		must(t, xml.Unmarshal([]byte(text), &picture))
		if len(picture.Groups) != len(g.Nodes) {
			t.Errorf("%s: %d boxes for %d nodes", name, len(picture.Groups), len(g.Nodes))
		}
		for i, a := range picture.Groups {
			w, h := a.Rect.size(t)
			if a.Rect.X < 0 || a.Rect.Y < 0 || a.Rect.X+w > picture.Width || a.Rect.Y+h > picture.Height {
				t.Errorf("%s: %q is outside", name, a.Text)
			}
			if len([]rune(a.Text))*7 > w {
				t.Errorf("%s: %q is wider than its box", name, a.Text)
			}
			for _, b := range picture.Groups[:i] {
				w2, h2 := b.Rect.size(t)
				if a.Rect.X < b.Rect.X+w2 && b.Rect.X < a.Rect.X+w && a.Rect.Y < b.Rect.Y+h2 && b.Rect.Y < a.Rect.Y+h {
					t.Errorf("%s: %q lies on %q", name, a.Text, b.Text)
				}
			}
		}
	}
}
