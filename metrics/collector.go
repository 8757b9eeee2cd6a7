// Package metrics tells Prometheus about the data directories that this program
// holds, and about the leases that it keeps at a cluster's engine: the same
// families as `solehold serve` tells of a whole host, so that the dashboards and
// alerts in deploy/ fit both. docs/metrics.md lists them.
//
// A Collector belongs to the caller's registry, beside whatever else is in it:
//
//	c := metrics.NewCollector(metrics.Options{})
//	prometheus.MustRegister(c)
//	lock, err := c.Acquire(ctx, dir, nil) // in place of solehold.Acquire
//
// Nothing here asks the file system when it is scraped, and nothing is decided by
// it: a program without a Collector works the same.
package metrics

import (
	"cmp"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/exposition"
	"github.com/solehold/solehold/internal/journal"
)

// Options change a Collector. The zero value is useful.
type Options struct {
	// Most bounds how many directories are told, by default 500; the others are
	// counted by solehold_directories_left_out. Those that are not held are
	// forgotten first, the longest unused before the others.
	Most int
	// Labels are put on everything, for two Collectors in one registry.
	Labels prometheus.Labels
	// Buckets are the upper bounds of the histograms in seconds; by default those
	// of `solehold serve`, from a millisecond to a minute.
	Buckets []float64
}

// Collector counts what happens to the directories of this program. It implements
// prometheus.Collector; its methods may be called from any goroutine.
type Collector struct {
	o   Options
	set exposition.Set

	mu   sync.Mutex
	dirs map[string]*directory
}

// directory is what is known of one.
type directory struct {
	exposition.Directory
	used  time.Time
	lease *leaseState
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a Collector that knows of nothing yet. It is not registered.
func NewCollector(o Options) *Collector {
	o.Most = cmp.Or(max(o.Most, 0), exposition.MostDirectories)
	if len(o.Buckets) == 0 {
		o.Buckets = []float64{0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60}
	}
	return &Collector{o: o, set: exposition.NewSet(o.Labels), dirs: map[string]*directory{}}
}

// Describe sends the descriptions of all families.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) { c.set.DescribeProgram(ch) }

// Collect sends what is known now.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	h := exposition.Host{Most: c.o.Most}
	c.mu.Lock()
	for _, d := range c.dirs {
		shown := d.Directory
		shown.Acquire, shown.HandOff = shown.Acquire.Clone(), shown.HandOff.Clone()
		shown.Lease = d.lease.now()
		h.Directories = append(h.Directories, shown)
	}
	c.mu.Unlock()
	c.set.Program(h, ch)
}

// at changes what is known of a directory.
func (c *Collector) at(dir string, change func(*directory)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.dirs[dir]
	if d == nil {
		c.makeRoom()
		d = &directory{Directory: exposition.Directory{Dir: dir}}
		c.dirs[dir] = d
	}
	d.used = time.Now()
	change(d)
}

// makeRoom forgets the directory that was not used for the longest time, of those
// that nobody here holds or waits for.
func (c *Collector) makeRoom() {
	if len(c.dirs) < c.o.Most {
		return
	}
	oldest := ""
	for dir, d := range c.dirs {
		if d.idle() && (oldest == "" || d.used.Before(c.dirs[oldest].used)) {
			oldest = dir
		}
	}
	delete(c.dirs, oldest)
}

func (d *directory) idle() bool { return !d.Held && d.Waiters == 0 && d.lease.now() == nil }

// Options returns a copy of o, which may be nil, with which solehold.Acquire tells
// this Collector of what happens to the directory: for who does not call
// Acquire of the Collector, as package dataroot does not. Durations, waiting and
// refusals are not told then. What o.OnEvent was is called as well.
func (c *Collector) Options(o *solehold.Options) *solehold.Options {
	var mine solehold.Options
	if o != nil {
		mine = *o
	}
	next := mine.OnEvent
	mine.OnEvent = func(dir string, e solehold.Event) {
		c.event(dir, e)
		if next != nil {
			next(dir, e)
		}
	}
	return &mine
}

// event takes note of what the library adds to the history.
func (c *Collector) event(dir string, e solehold.Event) {
	if e.Kind == journal.Refused {
		return // Acquire counts them: the history leaves some out
	}
	c.at(dir, func(d *directory) {
		switch e.Kind {
		case journal.Acquired:
			d.Held, d.Since, d.Token = true, e.Time, e.Token
			d.Acquisitions++
		case journal.Vanished:
			d.Takeovers++
		case journal.Lost:
			d.Held = false
			d.Losses++
		case journal.Released:
			d.Held = false
		}
	})
}
