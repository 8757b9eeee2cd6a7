package turn_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/bench/internal/turn"
)

// counted is a side whose samples are 1, 2, 3, … times step.
func counted(name string, step float64, log *[]string) turn.Side {
	n := 0.0
	return turn.Side{Name: name, Sample: func() (float64, error) {
		*log = append(*log, name)
		n++
		return n * step, nil
	}}
}

func TestRunTakesTurns(t *testing.T) {
	var log []string
	all, err := turn.Plan{Rounds: 3}.Run(counted("a", 1, &log), counted("b", 2, &log))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(log, ""); got != "abababab" {
		t.Errorf("order %s, want one round to warm up and three in turn", got)
	}
	if want := []float64{2, 3, 4}; !slices.Equal(all[0].Samples, want) {
		t.Errorf("samples %v, want %v without the first", all[0].Samples, want)
	}
	if r := all[0].Over(all[1]); r != (turn.Ratio{Median: 0.5, Min: 0.5, Max: 0.5, Pairs: 3}) {
		t.Errorf("ratio %+v", r)
	}
}

func TestOverComparesPairs(t *testing.T) {
	a := turn.Series{Samples: []float64{10, 40, 90, 7}}
	b := turn.Series{Samples: []float64{10, 20, 30, 0}} // a pair with nothing to divide by does not count
	if r := a.Over(b); r != (turn.Ratio{Median: 2, Min: 1, Max: 3, Pairs: 3}) {
		t.Errorf("ratio %+v", r)
	}
	if r := a.Over(turn.Series{}); r != (turn.Ratio{}) {
		t.Errorf("ratio to nothing %+v", r)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		samples []float64
		want    float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := (turn.Series{Samples: c.samples}).Median(); got != c.want {
			t.Errorf("median of %v: %v, want %v", c.samples, got, c.want)
		}
	}
}

func TestBatchIsMeanAndTidied(t *testing.T) {
	ops, tidied := 0, 0
	s := turn.Batch("op", time.Microsecond, func() error { ops++; return nil }, func() error { tidied++; return nil })
	ns, err := s.Sample()
	if err != nil || ns <= 0 || ops == 0 || tidied != 1 {
		t.Errorf("%v ns, %v after %d operations, %d times tidied", ns, err, ops, tidied)
	}
}

func TestErrorNamesSide(t *testing.T) {
	broken := errors.New("broken")
	s := turn.Batch("side", time.Microsecond, func() error { return broken }, nil)
	if _, err := (turn.Plan{Rounds: 1}).Run(s); !errors.Is(err, broken) || !strings.Contains(err.Error(), "side") {
		t.Errorf("error %v", err)
	}
}
