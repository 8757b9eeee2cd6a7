package overview

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/procfs"
)

// Watcher remembers what it saw, so that a look costs what has changed, and a
// directory that nobody holds any more stays in sight. It may be used by several
// goroutines; they look one after the other.
type Watcher struct {
	o    Options
	proc procfs.FS

	mu      sync.Mutex
	entries map[string]*entry // by path
	leftOut map[string]bool   // what is beyond the limit, as far as that is counted
	groups  map[string]*group // by mount point
	inbox   inbox
	mounts  []procfs.Mount
	mounted time.Time // when they were listed
	locks   lockList
	clinic  clinic
	rooted  time.Time // when the roots were listed
	dirty   bool      // something has changed since the last answer
	last    atomic.Pointer[Host]
	gates   gates
	stat    func(path string) stamp // which asks for a file
}

// entry is one directory.
type entry struct {
	path   string
	named  bool   // by the caller
	point  string // where its file system is mounted
	key    datadir.Key
	lock   datadir.Key     // of the lock file
	marks  []procfs.FileID // mark and lock as the kernel's list has them
	held   int             // rows of the list that are about it
	forced bool            // it must be read anew
	reader *reader
	row    Directory
	read   bool // there is a row
	gone   time.Time
}

const (
	// remembered is how long a directory stays in sight that is not there any more.
	remembered = time.Hour
	// relist is the time between two looks at what changes seldom: roots, mounts, and
	// locks whose holders could not be seen.
	relist = 30 * time.Second
)

// NewWatcher returns one that has not looked yet.
func NewWatcher(o Options) *Watcher {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	if o.Timeout <= 0 {
		o.Timeout = solehold.DefaultTimeout
	}
	if o.Examine == 0 {
		o.Examine = DefaultExamine
	}
	if o.Proc == (procfs.FS{}) {
		o.Proc = procfs.Default()
	}
	w := &Watcher{o: o, proc: o.Proc, entries: map[string]*entry{}, leftOut: map[string]bool{}, groups: map[string]*group{}, inbox: inbox{bell: make(chan struct{}, 1)}, stat: stampOf}
	for _, path := range o.Paths {
		w.name(path)
	}
	return w
}

// Look looks, and returns what there is to see. It waits as long as something
// answers within o.Timeout. A file system that does not is named in its rows, and
// asked no more until it answers.
func (w *Watcher) Look(ctx context.Context) Host {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clinic.start(ctx, w)
	w.listRoots(ctx)
	w.discover()
	w.refresh(ctx)
	w.forget()
	if w.clinic.take(ctx) {
		w.dirty = true
	}
	h := w.Last()
	if w.dirty || h.Revision == 0 {
		h = w.host(h.Revision + 1)
		w.dirty = false
	}
	h.At = time.Now().UTC()
	w.last.Store(&h)
	return h
}

// Last is what the last look saw; before the first one it has the revision 0.
func (w *Watcher) Last() Host {
	if h := w.last.Load(); h != nil {
		return *h
	}
	return Host{Directories: []Directory{}}
}

// name adds a directory that is told about in any case.
func (w *Watcher) name(path string) {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if e := w.add(path); e != nil {
		e.named = true
	}
}

// add is nil beyond the limit.
func (w *Watcher) add(path string) *entry {
	if e := w.entries[path]; e != nil {
		return e
	}
	if len(w.entries) >= w.o.Limit {
		if !w.leftOut[path] && len(w.leftOut) < w.o.Limit {
			w.leftOut[path], w.dirty = true, true
		}
		return nil
	}
	e := &entry{path: path, reader: &reader{path: path, stat: w.stat}}
	w.entries[path] = e
	w.mounts = nil // it may lie on a new one
	return e
}

// forget drops directories that nobody named and that are not there any more.
func (w *Watcher) forget() {
	for path, e := range w.entries {
		switch p := e.row.Problem; {
		case e.named || p == nil || p.Kind != Vanished:
			e.gone = time.Time{}
		case e.gone.IsZero() && !strings.HasPrefix(path, "/proc/"):
			e.gone = time.Now()
		case time.Since(e.gone) > remembered, strings.HasPrefix(path, "/proc/"): // it was seen through a process that is gone
			delete(w.entries, path)
			w.dirty = true
		}
	}
}

// host puts the answer together.
func (w *Watcher) host(revision uint64) Host {
	h := Host{Revision: revision, LeftOut: len(w.leftOut), Unseen: w.locks.unseen, Directories: make([]Directory, 0, len(w.entries))}
	h.Doctor, h.Examined = w.clinic.report, w.clinic.at
	names := map[datadir.Key]bool{}
	for _, e := range w.entries {
		if e.named && e.key != (datadir.Key{}) {
			names[e.key] = true
		}
	}
	for _, e := range w.entries {
		if e.read && (e.named || !names[e.key]) { // one that was found and is named under another name is shown once
			h.Directories = append(h.Directories, e.row)
		}
	}
	slices.SortFunc(h.Directories, func(a, b Directory) int { return cmp.Compare(a.Path, b.Path) })
	w.clinic.tell(h.Directories)
	return h
}
