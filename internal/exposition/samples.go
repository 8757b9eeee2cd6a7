package exposition

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// MostDirectories is how many directories are shown by default.
const MostDirectories = 500

// Host is everything that is known at one time.
type Host struct {
	// At is when it was looked.
	At time.Time
	// Directories are the directories that are known.
	Directories []Directory
	// LeftOut counts directories that are known, and not among them.
	LeftOut int
	// Most bounds how many of them are shown; by default MostDirectories.
	Most int
	// Findings counts doctor's findings by id, those with 0 included; nil before the
	// first look of doctor.
	Findings map[string]int
	// Gaps counts what doctor could not read.
	Gaps int
	// Disk and Memory are what removed files still take.
	Disk, Memory Room
	// Clusters are the engines that were asked.
	Clusters []Cluster
}

// Cluster is an engine, and what it told of its locks.
type Cluster struct {
	// Engine is where it is.
	Engine string
	// Up says that it answered the newest question.
	Up bool
	// Locks are as many as are shown, by different names.
	Locks []ClusterLock
	// LeftOut counts the others.
	LeftOut int
}

// ClusterLock is a lock of a cluster.
type ClusterLock struct {
	// Name is its name.
	Name string
	// Held says that somebody has it, with Token.
	Held  bool
	Token uint64
}

// Room is what some files take.
type Room struct {
	// Files counts them.
	Files int
	// Bytes is their size on disk.
	Bytes int64
}

// Directory is what is known of one directory. What is left empty is not told,
// but for counts: a count that begins with 0 shows its first event.
type Directory struct {
	// Dir is its path.
	Dir string
	// State is one of States.
	State string
	// Held says that it has an owner, Since when that took it.
	Held  bool
	Since time.Time
	// Token is the newest one.
	Token uint64
	// Waiters wait for it.
	Waiters int
	// Stale says that nobody has it and the last owner left no release.
	Stale bool
	// GivenUp says that its supervisor has given up.
	GivenUp bool
	// Unreadable says that it cannot be told how it stands.
	Unreadable bool
	// Probe is the newest answer of the service.
	Probe *Probe
	// Lease is what its owner has at an engine besides.
	Lease *Lease
	// Incidents is how many are kept.
	Incidents int
	// Counts are its counters.
	Counts
}

// Probe is an answer of a service.
type Probe struct {
	// Well says that it is well.
	Well bool
	// Time is when, Took how long it took.
	Time time.Time
	Took time.Duration
}

// Lease is a lock that has to be renewed.
type Lease struct {
	// Margin is the time until the owner must stop, TTL the time to live.
	Margin, TTL time.Duration
}

// States are the values of the label state.
func States() []string {
	return []string{"HELD", "FREE", "UNGUARDED", "SPLIT", "DETACHED", "UNKNOWN"}
}

// writer turns values into metrics.
type writer struct {
	set    Set
	teller string
	ch     chan<- prometheus.Metric
}

func (w writer) put(name string, value float64, labels ...string) {
	f := w.set[name]
	if f.Teller != w.teller && f.Teller != both {
		return
	}
	kind := prometheus.GaugeValue
	if f.Kind == Counter {
		kind = prometheus.CounterValue
	}
	w.ch <- prometheus.MustNewConstMetric(f.desc, kind, value, labels...)
}

func (w writer) histogram(name string, d Durations, labels ...string) {
	if f := w.set[name]; f.Teller == w.teller || f.Teller == both {
		w.ch <- prometheus.MustNewConstHistogram(f.desc, d.Count, d.Sum, d.Buckets, labels...)
	}
}

// Serve sends what `solehold serve` tells.
func (s Set) Serve(h Host, ch chan<- prometheus.Metric) {
	w := writer{s, serve, ch}
	w.directories(h)
	if !h.At.IsZero() {
		w.put(Looked, seconds(h.At))
	}
	w.clusters(h.Clusters)
	if h.Findings == nil {
		return
	}
	for id, n := range h.Findings {
		w.put(Findings, float64(n), id)
	}
	w.put(Gaps, float64(h.Gaps))
	for kind, room := range map[string]Room{"disk": h.Disk, "memory": h.Memory} {
		w.put(DeletedOpenBytes, float64(room.Bytes), kind)
		w.put(DeletedOpenFiles, float64(room.Files), kind)
	}
}

// clusters sends what the engines told. Two that read the same would spoil everything:
// the second is left out.
func (w writer) clusters(all []Cluster) {
	shown := map[string]bool{}
	for _, c := range all {
		engine := label(c.Engine)
		if shown[engine] {
			continue
		}
		shown[engine] = true
		w.put(ClusterUp, number(c.Up), engine)
		w.put(ClusterLocks, float64(len(c.Locks)+c.LeftOut), engine)
		named := map[string]bool{}
		for _, l := range c.Locks {
			name := label(l.Name)
			if named[name] || !c.Up {
				continue
			}
			named[name] = true
			w.put(ClusterHeld, number(l.Held), engine, name)
			if l.Token > 0 {
				w.put(ClusterToken, float64(l.Token), engine, name)
			}
		}
	}
}

// Program sends what a program tells of its own directories.
func (s Set) Program(h Host, ch chan<- prometheus.Metric) { writer{s, program, ch}.directories(h) }

// directories sends as many as may be, those with an owner or a danger first and
// by name, so that it is the same ones each time. Two whose paths read the same
// would spoil everything: the second is left out.
func (w writer) directories(h Host) {
	most := cmp.Or(h.Most, MostDirectories)
	all := slices.Clone(h.Directories)
	slices.SortFunc(all, func(a, b Directory) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Dir, b.Dir))
	})
	shown := map[string]bool{}
	for _, d := range all {
		if d.Dir = label(d.Dir); shown[d.Dir] || len(shown) >= most {
			continue
		}
		shown[d.Dir] = true
		w.directory(d)
	}
	w.put(Directories, float64(h.LeftOut+len(all)))
	w.put(LeftOut, float64(h.LeftOut+len(all)-len(shown)))
}

func (d Directory) rank() int {
	switch {
	case d.Held || d.State != "" && d.State != "FREE":
		return 0
	case d.Stale || d.GivenUp:
		return 1
	}
	return 2
}

func (w writer) directory(d Directory) {
	w.put(Held, number(d.Held), d.Dir)
	for _, s := range States() {
		w.put(State, number(d.State == s), d.Dir, s)
	}
	if d.Held && !d.Since.IsZero() {
		w.put(HeldSince, seconds(d.Since), d.Dir)
	}
	if d.Token > 0 {
		w.put(Token, float64(d.Token), d.Dir)
	}
	w.put(Waiters, float64(d.Waiters), d.Dir)
	w.put(StaleRecord, number(d.Stale), d.Dir)
	w.put(GivenUp, number(d.GivenUp), d.Dir)
	w.put(Unreadable, number(d.Unreadable), d.Dir)
	w.put(Incidents, float64(d.Incidents), d.Dir)
	w.counts(d)
	if p := d.Probe; p != nil {
		w.put(Healthy, number(p.Well), d.Dir)
		w.put(Probed, seconds(p.Time), d.Dir)
		w.put(ProbeTime, p.Took.Seconds(), d.Dir)
	}
	if l := d.Lease; l != nil {
		w.put(LeaseMargin, l.Margin.Seconds(), d.Dir)
		w.put(LeaseTTL, l.TTL.Seconds(), d.Dir)
	}
}

func (w writer) counts(d Directory) {
	for name, n := range map[string]uint64{
		Acquisitions: d.Acquisitions, Refusals: d.Refusals, Takeovers: d.Takeovers, Losses: d.Losses,
		Restarts: d.Restarts, Recoveries: d.Recoveries,
	} {
		w.put(name, float64(n), d.Dir)
	}
	if d.Lease != nil || d.Renewals+d.EngineErrors > 0 {
		w.put(Renewals, float64(d.Renewals), d.Dir)
		w.put(EngineErrors, float64(d.EngineErrors), d.Dir)
	}
	w.histogram(AcquireTime, d.Acquire, d.Dir)
	w.histogram(HandOffTime, d.HandOff, d.Dir)
	w.histogram(RequestTime, d.Request, d.Dir)
	w.histogram(StartTime, d.Start, d.Dir)
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// label makes a path fit for a label: what is no UTF-8 is shown as \xHH.
func label(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	var b strings.Builder
	for i, r := range path {
		if r == utf8.RuneError && !strings.HasPrefix(path[i:], string(utf8.RuneError)) {
			b.WriteString(`\x` + strconv.FormatUint(uint64(path[i]), 16))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
