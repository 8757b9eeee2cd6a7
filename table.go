package solehold

import (
	"path/filepath"
	"sync"
	"time"

	"github.com/solehold/solehold/internal/datadir"
)

// table knows what this process holds. A second try on such a directory is
// answered here; for an absolute path that was used before without any system
// call.
type table struct {
	mu      sync.Mutex
	entries map[datadir.Key]*entry
	paths   map[string]*entry // absolute paths as callers spelled them

	refusals map[datadir.Key]refusal // when this process last wrote one down
}

// entry is one directory that is held, or being acquired.
type entry struct {
	key  datadir.Key
	lock *Lock         // nil while the acquisition is under way
	done chan struct{} // closed when the acquisition has ended, either way
	gone chan struct{} // closed when it is held no more
}

type refusal struct {
	at   time.Time
	more int
}

// process is the one table of this process: exclusion inside a process is
// global by nature.
var process = &table{
	entries:  map[datadir.Key]*entry{},
	paths:    map[string]*entry{},
	refusals: map[datadir.Key]refusal{},
}

// byPath finds a directory that is held under a path of exactly this spelling.
func (t *table) byPath(path string) *entry {
	if !filepath.IsAbs(path) {
		return nil // what a relative path leads to depends on the working directory
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.paths[path]
}

// reserve claims the key for one acquisition. A false answer comes with the
// entry that has it.
func (t *table) reserve(key datadir.Key) (*entry, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.entries[key]; e != nil {
		return e, false
	}
	e := &entry{key: key, done: make(chan struct{}), gone: make(chan struct{})}
	t.entries[key] = e
	return e, true
}

// settle ends a reservation: with a lock it is held, with nil it is free again.
func (t *table) settle(e *entry, l *Lock, path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l == nil {
		delete(t.entries, e.key)
		close(e.gone)
	} else {
		e.lock = l
		if filepath.IsAbs(path) {
			t.paths[path] = e
		}
	}
	close(e.done)
}

// drop forgets a directory that was released.
func (t *table) drop(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.entries, e.key)
	t.forget(e)
	close(e.gone)
}

// dropPaths forgets the spellings, when a path may lead elsewhere now.
func (t *table) dropPaths(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(e)
}

func (t *table) forget(e *entry) {
	for p, other := range t.paths {
		if other == e {
			delete(t.paths, p)
		}
	}
}

// listed says whether a refusal is to be written to the history: one a second
// from this process, with the count of those before it that were not.
func (t *table) listed(key datadir.Key, now time.Time) (more int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.refusals[key]
	if now.Sub(r.at) < time.Second {
		r.more++
		t.refusals[key] = r
		return 0, false
	}
	t.refusals[key] = refusal{at: now}
	return r.more, true
}
