package exposition

import "maps"

// Counts are what only grows.
type Counts struct {
	// Acquisitions, Refusals, Takeovers, Losses, Restarts and Recoveries count events
	// of a directory.
	Acquisitions, Refusals, Takeovers, Losses, Restarts, Recoveries uint64
	// Renewals and EngineErrors count answers of the engine of a cluster.
	Renewals, EngineErrors uint64
	// Acquire, HandOff, Request and Start are durations.
	Acquire, HandOff, Request, Start Durations
}

// Durations is a histogram. Its zero value has nothing in it.
type Durations struct {
	// Buckets counts those up to each bound in seconds, those below it included.
	Buckets map[float64]uint64
	// Count is how many there were, Sum all of them together, in seconds.
	Count uint64
	Sum   float64
}

// Clone gives a histogram of its own.
func (d Durations) Clone() Durations { return Durations{maps.Clone(d.Buckets), d.Count, d.Sum} }

// Observe adds one duration in seconds. What was measured backwards counts as 0.
func (d *Durations) Observe(seconds float64, bounds []float64) {
	if d.Buckets == nil {
		d.Buckets = map[float64]uint64{}
	}
	seconds = max(seconds, 0)
	for _, b := range bounds {
		if seconds <= b {
			d.Buckets[b]++
		} else {
			d.Buckets[b] += 0 // it is shown, too
		}
	}
	d.Count++
	d.Sum += seconds
}
