package overview

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/dataroot"
	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/diagnose"
)

// group is the directories of one mount. One goroutine at a time reads them, one
// after the other: where the file system hangs that is all that hangs.
type group struct {
	point string
	busy  bool
}

// result is what the goroutine of a group found out.
type result struct {
	group string
	entry *entry     // nil at the end
	row   *Directory // nil where it is as it was
	key   datadir.Key
	lock  datadir.Key
	left  bool // it was not looked at, for another one there did not answer
}

// inbox is where results arrive, also those of a goroutine that nobody waits for
// any more.
type inbox struct {
	mu    sync.Mutex
	items []result
	bell  chan struct{}
}

func (b *inbox) put(r result) {
	b.mu.Lock()
	b.items = append(b.items, r)
	b.mu.Unlock()
	select {
	case b.bell <- struct{}{}:
	default:
	}
}

func (b *inbox) take() []result {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.items
	b.items = nil
	return all
}

// mostAsked is how many directories are asked each second whether their files are as
// they were: where there are more it takes some seconds until all were. Who comes and
// goes is seen at once in any case, in the kernel's list.
const mostAsked = 100

// paces are the times between two looks at the files of a directory: of one that was
// named, and of one that was found. Those that were named go before.
func (w *Watcher) paces() (named, found time.Duration) {
	n := 0
	for _, e := range w.entries {
		if e.named {
			n++
		}
	}
	return time.Duration(n/mostAsked) * time.Second, time.Duration(len(w.entries)/mostAsked) * time.Second
}

// job is one directory to look at.
type job struct {
	entry  *entry
	reader *reader
	forced bool
	again  bool // the row is told even if it is as it was
}

// refresh looks at every directory, by mount. It waits for each as long as another
// one answers within the limit.
func (w *Watcher) refresh(ctx context.Context) {
	w.accept()
	if w.mounts == nil || time.Since(w.mounted) > relist {
		w.mounts, _ = w.proc.Mounts(0) // without it all are one group
		w.mounted = time.Now()
		for _, e := range w.entries {
			e.point = w.mountOf(e.path)
		}
	}
	named, found := w.paces()
	jobs := map[string][]job{}
	for _, e := range w.entries {
		point := e.point
		if g := w.groups[point]; g == nil {
			w.groups[point] = &group{point: point}
		} else if g.busy {
			w.silent(e)
			continue
		}
		pace := found
		if e.named {
			pace = named
		}
		if e.read && !e.forced && !e.row.hung() && e.reader.rests(pace) {
			continue
		}
		jobs[point] = append(jobs[point], job{e, e.reader, e.forced, !e.read || e.row.hung()})
		e.forced = false
	}
	for point, list := range jobs {
		w.groups[point].busy = true
		go where{point, &solehold.Options{Timeout: w.o.Timeout}}.work(context.WithoutCancel(ctx), &w.inbox, list)
	}
	waiting := len(jobs)
	limit := time.NewTimer(w.o.Timeout)
	defer limit.Stop()
	for waiting > 0 {
		select {
		case <-w.inbox.bell:
			waiting -= w.accept()
			limit.Reset(w.o.Timeout)
		case <-limit.C:
			w.giveUp()
			return
		case <-ctx.Done():
			return
		}
	}
}

// where says where a group lies and how it is asked.
type where struct {
	point string
	o     *solehold.Options
}

// sign is after how many directories that are as they were a sign of life is given.
const sign = 32

func (at where) work(ctx context.Context, in *inbox, jobs []job) {
	defer in.put(result{group: at.point})
	for i, j := range jobs {
		changed := j.reader.look(ctx, at.o, j.forced)
		switch {
		case changed || j.again:
			row := j.reader.row
			in.put(result{group: at.point, entry: j.entry, row: &row, key: j.reader.key, lock: j.reader.lock})
		case i%sign == sign-1:
			in.put(result{group: at.point, entry: j.entry})
		}
		if errors.Is(j.reader.row.Err, solehold.ErrUnanswered) {
			for _, other := range jobs[i+1:] { // none of which will answer
				in.put(result{group: at.point, entry: other.entry, left: true})
			}
			return
		}
	}
}

// accept takes in what has arrived, and says how many groups are done.
func (w *Watcher) accept() (done int) {
	for _, r := range w.inbox.take() {
		if r.entry == nil {
			w.groups[r.group].busy = false
			done++
			continue
		}
		e := r.entry
		e.forced = e.forced || r.left
		if r.row != nil && (!e.read || !e.row.hung() || !r.row.hung()) {
			e.row, e.read, e.key, e.lock = *r.row, true, r.key, r.lock
			w.dirty = true
		}
	}
	return done
}

// giveUp marks what did not answer.
func (w *Watcher) giveUp() {
	for _, e := range w.entries {
		if g := w.groups[e.point]; g != nil && g.busy {
			w.silent(e)
		}
	}
}

// silent says in a row that its file system does not answer. What was known stays.
func (w *Watcher) silent(e *entry) {
	if e.row.hung() {
		return
	}
	detail := fmt.Sprintf("the file system at %s did not answer within %s", e.point, w.o.Timeout)
	if !e.read {
		e.row = Directory{Report: diagnose.Report{Status: solehold.Status{Dir: e.path}}, Path: e.path}
		e.row.Record.Class = "none"
	}
	e.row.State, e.row.Error = solehold.NotKnown, detail
	e.row.Problem = &Problem{Hung, detail}
	e.read, w.dirty = true, true
}

func (d Directory) gone() bool { return d.Problem != nil && d.Problem.Kind == Vanished }

func (d Directory) hung() bool { return d.Problem != nil && d.Problem.Kind == Hung }

// mountOf is the mount point above a path. What is seen through a process is a
// group of its own: its mounts are others.
func (w *Watcher) mountOf(path string) string {
	if strings.HasPrefix(path, "/proc/") {
		return path
	}
	best := ""
	for _, m := range w.mounts {
		if len(m.Point) >= len(best) && (m.Point == "/" || path == m.Point || strings.HasPrefix(path, m.Point+"/")) {
			best = m.Point
		}
	}
	return best
}

// listRoots finds the data roots below the bases that were named.
func (w *Watcher) listRoots(ctx context.Context) {
	if len(w.o.Roots) == 0 || time.Since(w.rooted) < relist {
		return
	}
	w.rooted = time.Now()
	for _, base := range w.o.Roots {
		q := diagnose.Question{Path: base, Op: "look for data roots", Limit: w.o.Timeout}
		all, err := diagnose.Ask(ctx, q, func() ([]dataroot.Listed, error) { return dataroot.List(base) })
		if err != nil {
			w.name(base) // its row says why
			continue
		}
		for _, l := range all {
			w.name(l.Path)
		}
	}
}
