package overview

import "time"

// bounds are the upper bounds of the buckets.
func bounds() [12]time.Duration {
	return [...]time.Duration{
		time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
		500 * time.Millisecond, time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
	}
}

// Durations are how long something took, each time that it happened.
type Durations struct {
	// Count is how often.
	Count int `json:"count"`
	// Sum is all of them together, in seconds.
	Sum float64 `json:"sum"`
	// Buckets counts those up to each of Bounds, as Prometheus does: each contains
	// those before it.
	Buckets [12]int `json:"buckets"`
	// Last is the newest, in seconds.
	Last float64 `json:"last,omitempty"`
}

// Bounds are the upper bounds of the buckets, in seconds.
func Bounds() []float64 {
	var all []float64
	for _, b := range bounds() {
		all = append(all, b.Seconds())
	}
	return all
}

func (d *Durations) add(took time.Duration) {
	d.Count++
	d.Last = took.Seconds()
	d.Sum += d.Last
	for i, b := range bounds() {
		if took <= b {
			d.Buckets[i]++
		}
	}
}
