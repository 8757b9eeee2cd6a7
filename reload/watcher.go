package reload

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// debounce joins the events of one change, and most bounds how long a stream of
	// them may put off the look.
	debounce = 3 * time.Millisecond
	most     = 20 * time.Millisecond
	// A look that met a writer is repeated after firstRetry, then less often.
	firstRetry = 2 * time.Millisecond
	lastRetry  = 50 * time.Millisecond
	// maxLinks bounds a chain of symlinks.
	maxLinks = 16
)

// watcher looks at one file when something has happened around it.
type watcher struct {
	path   string
	o      Options
	apply  func(Version)
	events *fsnotify.Watcher

	dirs    []string // watched: all folders that the path leads through by links
	names   []string // in them
	sum     [sha256.Size]byte
	have    bool
	refused string // the reason that was told last

	first time.Time // of the events that wait for a look
	look  *time.Timer
	retry time.Duration
	busy  time.Time // since when each look has met a writer
}

func newWatcher(path string, o Options, apply func(Version)) (*watcher, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	for _, beside := range []*string{&o.SumFile, &o.LockFile} {
		if *beside == "" {
			continue
		}
		if *beside, err = filepath.Abs(*beside); err != nil {
			return nil, err
		}
	}
	events, err := fsnotify.NewBufferedWatcher(256)
	if err != nil {
		return nil, err
	}
	w := &watcher{path: abs, o: o, apply: apply, events: events, look: time.NewTimer(0)}
	if o.Known != nil {
		w.sum, w.have = sha256.Sum256(o.Known), true
	}
	if err := events.Add(filepath.Dir(abs)); err != nil {
		events.Close()
		return nil, &os.PathError{Op: "watch", Path: filepath.Dir(abs), Err: err}
	}
	return w, nil
}

func (w *watcher) run(ctx context.Context) error {
	defer w.look.Stop()
	tick := time.NewTicker(w.o.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e, ok := <-w.events.Events:
			if ok && w.concerns(e.Name) {
				w.soon()
			}
		case <-w.events.Errors: // events were lost
			w.soon()
		case <-tick.C:
			w.soon()
		case <-w.look.C:
			w.first = time.Time{}
			w.check()
		}
	}
}

// concerns reports whether a name is one that the path leads through.
func (w *watcher) concerns(name string) bool {
	return slices.Contains(w.names, name) || name == w.path
}

// soon looks when no more events come, and soon in any case.
func (w *watcher) soon() {
	if w.first.IsZero() {
		w.first = time.Now()
	}
	w.retry = 0
	w.look.Reset(min(debounce, max(0, most-time.Since(w.first))))
}

// check looks, and hands out what is new.
func (w *watcher) check() {
	w.follow() // before the file is read: what comes after it is heard
	v, err := w.o.content(w.path)
	if known := w.have && v.Sum == w.sum; err == nil && !known {
		err = w.o.checked(w.path, v)
	}
	if !errors.Is(err, errBusy) {
		w.busy = time.Time{}
	}
	switch {
	case errors.Is(err, errBusy):
		w.again()
		w.wait(err)
	case (errors.Is(err, ErrSum) || errors.Is(err, ErrEmpty)) && w.retry < lastRetry:
		w.again() // the rest may come
	case err != nil:
		w.refuse(v, err)
	case w.have && v.Sum == w.sum:
		w.refused = ""
	default:
		w.sum, w.have, w.refused = v.Sum, true, ""
		w.apply(v)
	}
}

// again looks after a moment: who writes is done soon, mostly.
func (w *watcher) again() {
	w.retry = min(max(firstRetry, 2*w.retry), lastRetry)
	w.look.Reset(w.retry)
}

// wait tells of a writer that does not come to an end: nothing new is seen until it
// does.
func (w *watcher) wait(why error) {
	if w.busy.IsZero() {
		w.busy = time.Now()
	} else if time.Since(w.busy) >= w.o.Interval {
		w.refuse(Version{}, &os.PathError{Op: "read", Path: w.path, Err: why})
	}
}

// refuse tells a reason, once in a row, unless it is about content that is in use.
func (w *watcher) refuse(v Version, err error) {
	if w.have && len(v.Data) > 0 && v.Sum == w.sum || w.refused == err.Error() {
		return
	}
	w.refused = err.Error()
	w.o.Refused(err)
}

// follow watches every folder that the path leads through by symlinks. A folder is
// watched and not the file, whose name may lead to another one at any time.
func (w *watcher) follow() {
	dirs, names := chain(w.path)
	for _, beside := range []string{w.o.SumFile, w.o.LockFile} {
		if beside == "" {
			continue
		}
		moreDirs, moreNames := chain(beside)
		dirs, names = append(dirs, moreDirs...), append(names, moreNames...)
	}
	w.names = names
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	for _, dir := range dirs {
		w.events.Add(dir) // one that is missing is made with an event in the one above, or seen by the tick
	}
	for _, dir := range w.dirs {
		if !slices.Contains(dirs, dir) {
			w.events.Remove(dir)
		}
	}
	w.dirs = dirs
}

// chain lists the names that a path leads through, the links of its folders too,
// and the folders in which they lie.
func chain(path string) (dirs, names []string) {
	left := []string{path}
	for n := 0; len(left) > 0 && n < maxLinks; n++ {
		at := left[0]
		left = left[1:]
		for part := at; part != filepath.Dir(part); part = filepath.Dir(part) {
			target, err := os.Readlink(part)
			if err != nil && part != at {
				continue // a plain folder
			}
			dirs, names = append(dirs, filepath.Dir(part)), append(names, part)
			if err == nil {
				left = append(left, joined(filepath.Dir(part), target)+strings.TrimPrefix(at, part))
			}
		}
	}
	return dirs, names
}

func joined(dir, target string) string {
	if filepath.IsAbs(target) {
		return filepath.Clean(target)
	}
	return filepath.Join(dir, target)
}
