package drill_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/drill"
)

// by says by what each start owns the data.
type by map[int]string

func during(from, to float64, who by) drill.MadeFrame {
	return drill.MadeFrame{From: from, To: to, By: who}
}

// spans makes one of each two numbers.
func spans(at ...float64) (all []drill.Span) {
	for i := 0; i < len(at); i += 2 {
		all = append(all, drill.Span{From: at[i], To: at[i+1]})
	}
	return all
}

// TestJudge makes rounds of made-up lives.
func TestJudge(t *testing.T) {
	two := []drill.MadeLife{{Began: 1}, {Began: 1}}
	for name, c := range map[string]struct {
		lives  []drill.MadeLife
		frames []drill.MadeFrame
		owners int
		clash  string
		owned  [][]drill.Span
	}{
		"nothing is seen": {two, nil, 0, "", [][]drill.Span{nil, nil}},
		"one owner": {
			two,
			[]drill.MadeFrame{during(1, 2, by{}), during(2, 3, by{1: "open"}), during(3, 4, by{1: "listens"})},
			1, "",
			[][]drill.Span{spans(2, 4), nil},
		},
		"it lets go and comes again": {
			two,
			[]drill.MadeFrame{during(1, 2, by{1: "open"}), during(2, 3, by{}), during(3, 4, by{1: "open"})},
			1, "",
			[][]drill.Span{spans(1, 2, 3, 4), nil},
		},
		"a hand-over": {
			two,
			[]drill.MadeFrame{during(1, 2, by{1: "open"}), during(2, 3, by{2: "open"})},
			1, "",
			[][]drill.Span{spans(1, 2), spans(2, 3)},
		},
		"two at once": {
			two,
			[]drill.MadeFrame{during(1, 2, by{1: "open"}), during(2, 2.5, by{1: "open", 2: "listens"}), during(2.5, 3, by{2: "listens"})},
			2, "2 owners at once after 2.000s: pid 100 (start 1) has data open for writing; pid 200 (start 2) listens on tcp port 80",
			[][]drill.Span{spans(1, 2.5), spans(2, 3)},
		},
		"only the first clash is told": {
			two,
			[]drill.MadeFrame{during(1, 2, by{1: "open", 2: "open"}), during(2, 3, by{}), during(3, 4, by{1: "listens", 2: "listens"})},
			2, "2 owners at once after 1.000s: pid 100 (start 1) has data",
			[][]drill.Span{spans(1, 2, 3, 4), spans(1, 2, 3, 4)},
		},
		"a locked file is for who has the lock": {
			two,
			[]drill.MadeFrame{during(1, 2, by{1: "locked", 2: "unlocked"})},
			1, "",
			[][]drill.Span{spans(1, 2), nil},
		},
		"those that live on": {
			two,
			[]drill.MadeFrame{during(4, 4, by{1: "lives", 2: "lives"})},
			2, "pid 200 (start 2) lives on, and does not wait",
			[][]drill.Span{spans(4, 4), spans(4, 4)},
		},
		"many": {
			make([]drill.MadeLife, 7),
			[]drill.MadeFrame{during(1, 2, by{1: "open", 2: "open", 3: "open", 4: "open", 5: "open", 7: "open"})},
			6, "pid 400 (start 4) has data open for writing; 2 more",
			[][]drill.Span{spans(1, 2), spans(1, 2), spans(1, 2), spans(1, 2), spans(1, 2), nil, spans(1, 2)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := drill.JudgeOf(0, c.lives, c.frames)
			if r.Owners != c.owners {
				t.Errorf("%d owners, want %d", r.Owners, c.owners)
			}
			for i, l := range r.Starts {
				if !reflect.DeepEqual(l.Owned, c.owned[i]) {
					t.Errorf("start %d owned %v, want %v", l.Number, l.Owned, c.owned[i])
				}
			}
			switch {
			case (r.Clash != nil) != (c.clash != ""):
				t.Errorf("clash %+v, want %q", r.Clash, c.clash)
			case r.Clash != nil && (len(r.Reasons) != 1 || !strings.Contains(r.Reasons[0], c.clash)):
				t.Errorf("reasons %q, want %q", r.Reasons, c.clash)
			}
			for i := 1; i < len(r.Events); i++ {
				if r.Events[i].At < r.Events[i-1].At {
					t.Errorf("events out of order: %+v", r.Events)
				}
			}
		})
	}
}

// TestRefusals counts who was turned away: those that ended by themselves and owned nothing.
func TestRefusals(t *testing.T) {
	_, r := drill.JudgeOf(0, []drill.MadeLife{
		{Began: 1, Ended: 9, Died: 9, End: "signal 9", ByUs: true}, // the owner
		{Began: 1, Ended: 1.5, End: "exit 0"},
		{Began: 1, Ended: 3, End: "exit 0"},
		{Began: 1, Ended: 2, End: "exit 75"},
		{Began: 1, Ended: 8, End: "signal 9", Killed: true}, // by the scenario
		{Began: 1, Ended: 8, End: "signal 9", ByUs: true},   // it lived to the end of the round
		{Began: 1},                          // it has not ended
		{Began: 1, Ended: 4, End: "exit 1"}, // it owned the data before
	}, []drill.MadeFrame{during(2, 3, by{1: "open"}), during(3, 4, by{8: "open"})})
	want := drill.Refusals{Count: 3, Ends: map[string]int{"exit 0": 2, "exit 75": 1}, Slowest: 2}
	if !reflect.DeepEqual(r.Refused, want) {
		t.Errorf("%+v, want %+v", r.Refused, want)
	}
}

// TestSuccessions times the next owner: from the death of the one before, or from its own start if that was later.
func TestSuccessions(t *testing.T) {
	for name, c := range map[string]struct {
		before float64
		lives  []drill.MadeLife
		frames []drill.MadeFrame
		want   drill.Times
	}{
		"the first of all": {0, []drill.MadeLife{{Began: 1}}, []drill.MadeFrame{during(2, 3, by{1: "open"})}, drill.Times{}},
		"after another round": {
			0.5,
			[]drill.MadeLife{{Began: 1}},
			[]drill.MadeFrame{during(2, 3, by{1: "open"})},
			drill.Times{Count: 1, Median: 1, Slowest: 1},
		},
		"who waited": {
			0,
			[]drill.MadeLife{{Began: 1, Died: 4}, {Began: 1}},
			[]drill.MadeFrame{during(2, 4, by{1: "open"}), during(4, 4.25, by{}), during(4.25, 5, by{2: "open"})},
			drill.Times{Count: 1, Median: .25, Slowest: .25},
		},
		"two after each other": {
			0,
			[]drill.MadeLife{{Began: 1, Died: 2}, {Began: 1, Died: 4}, {Began: 5}},
			[]drill.MadeFrame{during(1.5, 2, by{1: "open"}), during(2.5, 4, by{2: "open"}), during(7, 8, by{3: "listens"})},
			drill.Times{Count: 2, Median: 2, Slowest: 2},
		},
		"beside one that lives": {
			0,
			[]drill.MadeLife{{Began: 1}, {Began: 2}},
			[]drill.MadeFrame{during(1.5, 3, by{1: "open"}), during(3, 4, by{1: "open", 2: "open"})},
			drill.Times{},
		},
		"by living on": {
			0.5,
			[]drill.MadeLife{{Began: 1}},
			[]drill.MadeFrame{during(9, 9, by{1: "lives"})},
			drill.Times{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, r := drill.JudgeOf(c.before, c.lives, c.frames); r.Next != c.want {
				t.Errorf("%+v, want %+v", r.Next, c.want)
			}
		})
	}
}
