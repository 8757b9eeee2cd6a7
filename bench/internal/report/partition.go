package report

import (
	"fmt"
	"io"
	"slices"
)

// Partition is what happened to holders that were cut off their engine.
type Partition struct {
	// Engine is where the lock was, Name whose client took it, Version which.
	Engine  string `json:"engine"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Runs is how many holders were cut off.
	Runs int `json:"runs"`
	// Told is how many seconds the holder was told, and Dead how many its command
	// was dead, before the next one was granted the lock; less than 0 is after.
	// Dead is nil for a client that runs nothing.
	Told *Spread `json:"told_before_s,omitempty"`
	Dead *Spread `json:"dead_before_s,omitempty"`
	// Owned is Dead until the next owner may work, after its lock-delay.
	Owned *Spread `json:"dead_before_owner_works_s,omitempty"`
	// Overlaps are the runs in which there were two owners.
	Overlaps int `json:"two_owners"`
	// Error says why the rest is missing.
	Error string `json:"error,omitempty"`
}

// Spread is the smallest, the middle and the largest of some figures.
type Spread struct {
	// Min, Median and Max are those.
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// SpreadOf gives nil for no figures.
func SpreadOf(all []float64) *Spread {
	if len(all) == 0 {
		return nil
	}
	all = slices.Sorted(slices.Values(all))
	n := len(all)
	return &Spread{all[0], (all[(n-1)/2] + all[n/2]) / 2, all[n-1]}
}

func (s *Spread) text() string {
	if s == nil {
		return "-"
	}
	return fmt.Sprintf("%+.2f %+.2f %+.2f", s.Min, s.Median, s.Max)
}

const partitionFormat = "  %-10s %-26s %4s  %-19s  %-19s  %-19s  %s\n"

// writePartitions writes the table of partitions.
func (r *Report) writePartitions(b io.Writer) {
	if len(r.Partitions) == 0 {
		return
	}
	fmt.Fprint(b, `
holders cut off by a black hole: the seconds before the lock was granted to the next one the holder was told and its
  command was dead, and the latter before the next one may work: smallest, median, largest; below 0 are two owners
`)
	fmt.Fprintf(b, partitionFormat, "engine", "client", "runs", "told", "dead", "dead before work", "two owners")
	for _, p := range r.Partitions {
		if p.Error != "" {
			fmt.Fprintf(b, "  %-10s %-26s %s\n", p.Engine, p.Name, p.Error)
			continue
		}
		fmt.Fprintf(b, partitionFormat, p.Engine, p.Name, fmt.Sprint(p.Runs), p.Told.text(), p.Dead.text(), p.Owned.text(), fmt.Sprintf("%d of %d", p.Overlaps, p.Runs))
	}
	for _, p := range r.Partitions {
		if p.Version != "" {
			fmt.Fprintf(b, "  (%s: %s)\n", p.Name, p.Version)
		}
	}
}
