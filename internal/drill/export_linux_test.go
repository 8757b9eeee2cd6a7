package drill

import (
	"io/fs"
	"time"

	"github.com/solehold/solehold/internal/procfs"
)

// Listener reads one line of a list of sockets.
func Listener(kind string, cols []string) (inode uint64, at string) { return listener(kind, cols) }

// Eye is an eye on a made-up /proc.
type Eye struct{ eye }

// NewEye looks at dir through fsys.
func NewEye(fsys fs.FS, dir string, ignore ...string) *Eye {
	return &Eye{eye{proc: procfs.New(fsys), dir: dir + "/", ignore: ignore, locked: map[uint64]bool{}}}
}

// Facts gives in words by what a process owns data; those that do not count are in parentheses.
func (e *Eye) Facts(pid int) (words []string, err error) {
	e.sockets.fresh = false
	st, err := e.proc.Stat(pid)
	if err != nil {
		return nil, err
	}
	found, err := e.facts(st)
	for _, f := range found {
		text := f.String()
		if !e.counts(f) {
			text = "(" + text + ")"
		}
		words = append(words, text)
	}
	return words, err
}

// Ours reports whether a path is data, and its name.
func (e *Eye) Ours(path string) (string, bool) { return e.ours(path) }

// Waits reports whether a process waits for a lock.
func (e *Eye) Waits(pid int) bool {
	st, err := e.proc.Stat(pid)
	return err == nil && e.waits(st)
}

// Busy reports whether a process works.
func (e *Eye) Busy(pid int) bool {
	st, err := e.proc.Stat(pid)
	return err == nil && e.busy(st)
}

// Gap is why the lists of sockets could not be read.
func (e *Eye) Gap() error { return e.sockets.gap }

// Below lists the pids below one.
func (e *Eye) Below(pid int) (pids []int) {
	for _, st := range below(e.proc, pid) {
		pids = append(pids, st.PID)
	}
	return pids
}

// Points draws the first random points of a round.
func Points(seed uint64, round, n int) (all []time.Duration) {
	d := newDice(seed, round)
	for range n {
		all = append(all, d.between(time.Second))
	}
	return all
}

// Bear makes a process start a program.
func Bear(pid int, argv ...string) (int, error) { return bear(pid, argv...) }

// Change gives an order to a place that is not apart.
func Change(data, what string) error { return place{Data: data}.change(what) }

// TimesOf sums up durations.
func TimesOf(all ...float64) Times { return times(all) }

// Again is the command line that repeats a drill.
func (c Config) Again() string { return c.again() }

// Check fills in what was left out.
func (c Config) Check() (Config, error) { return c.withDefaults() }
