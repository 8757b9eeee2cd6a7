// Package turn measures several things in turn, A B A B …, so that whatever
// else the machine does meets all of them alike, and compares them pair by pair.
//
// A single figure says little on a shared machine; the ratio of two samples that
// were taken one right after the other says more, and the median of many such
// ratios is what the benchmark reports.
package turn

import (
	"fmt"
	"slices"
	"time"
)

// Side is one of the things that are compared.
type Side struct {
	// Name says what it is.
	Name string
	// Sample measures once and returns nanoseconds for one operation.
	Sample func() (float64, error)
}

// Batch makes a side of an operation that is too short to be measured alone: a
// sample is the mean of as many in a row as take about length. tidy, where not
// nil, runs after each batch, unmeasured.
func Batch(name string, length time.Duration, op func() error, tidy func() error) Side {
	n := 0
	return Side{name, func() (float64, error) {
		if n == 0 {
			var err error
			if n, err = calibrate(length, op); err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
			}
		}
		start := time.Now()
		for range n {
			if err := op(); err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
			}
		}
		took := time.Since(start)
		if tidy != nil {
			if err := tidy(); err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
			}
		}
		return float64(took.Nanoseconds()) / float64(n), nil
	}}
}

// calibrate returns how often op runs in length, at least once. It takes the best
// of three: a machine that is busy for a moment must not make batches too short
// for good.
func calibrate(length time.Duration, op func() error) (int, error) {
	best := 1
	for range 3 {
		for n := 1; ; n *= 2 {
			start := time.Now()
			for range n {
				if err := op(); err != nil {
					return 0, err
				}
			}
			if took := time.Since(start); took >= length/2 || n >= 1<<20 {
				best = max(best, int(float64(n)*float64(length)/float64(max(took, 1))))
				break
			}
		}
	}
	return best, nil
}

// Plan says how long to go on: at least Rounds rounds, and until Time is over.
type Plan struct {
	Rounds int
	Time   time.Duration
}

// Series is the samples of one side, in the order of the rounds.
type Series struct {
	Name    string
	Samples []float64
}

// Run measures the sides in turn. The first round only warms up. The series have
// the same length, and samples of the same index were taken in the same round.
func (p Plan) Run(sides ...Side) ([]Series, error) {
	all := make([]Series, len(sides))
	for i, s := range sides {
		all[i].Name = s.Name
		if _, err := s.Sample(); err != nil {
			return nil, err
		}
	}
	start := time.Now()
	for round := 0; round < p.Rounds || time.Since(start) < p.Time; round++ {
		for i, s := range sides {
			ns, err := s.Sample()
			if err != nil {
				return nil, err
			}
			all[i].Samples = append(all[i].Samples, ns)
		}
	}
	return all, nil
}

// Median of the samples; of an even number the mean of the two in the middle, of
// none 0.
func (s Series) Median() float64 { return median(s.Samples) }

// Max of the samples; of none 0.
func (s Series) Max() float64 {
	if len(s.Samples) == 0 {
		return 0
	}
	return slices.Max(s.Samples)
}

// Ratio is how one series compares to another.
type Ratio struct {
	// Median, Min and Max of the ratios of all pairs.
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	// Pairs is how many there are.
	Pairs int `json:"pairs"`
}

// Over divides each sample by the other's of the same round.
func (s Series) Over(other Series) Ratio {
	var all []float64
	for i := range min(len(s.Samples), len(other.Samples)) {
		if other.Samples[i] > 0 {
			all = append(all, s.Samples[i]/other.Samples[i])
		}
	}
	if len(all) == 0 {
		return Ratio{}
	}
	return Ratio{median(all), slices.Min(all), slices.Max(all), len(all)}
}

func median(samples []float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(samples))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
