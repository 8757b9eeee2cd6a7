// Package keyed has ways to lock by key within one process, and what each of them
// allocates and keeps.
package keyed

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/solehold/solehold/keylock"
)

// Table locks by key.
type Table interface {
	// TryLock reports whether it has locked key.
	TryLock(key string) bool
	// Unlock gives back what TryLock locked.
	Unlock(key string)
}

// Peer is one way to do it.
type Peer struct {
	// Name says what it is made of.
	Name string
	// New makes an empty table.
	New func() Table
}

// Ours is keylock.
func Ours() Peer { return Peer{"keylock", func() Table { return keylock.New[string]() }} }

// Others are what people write who have no such package.
func Others() []Peer {
	return []Peer{
		{"sync.Mutex per key", func() Table { return &mutexes{all: map[string]*sync.Mutex{}} }},
		{"sync.Map + atomic", func() Table { return &flags{} }},
		{"singleflight-like map", func() Table { return &flights{all: map[string]*flight{}} }},
	}
}

// mutexes keeps a mutex for each key that there ever was: nobody knows when the
// last one who wants it is gone.
type mutexes struct {
	mu  sync.RWMutex
	all map[string]*sync.Mutex
}

func (t *mutexes) of(key string) *sync.Mutex {
	t.mu.RLock()
	m := t.all[key]
	t.mu.RUnlock()
	if m != nil {
		return m
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if m = t.all[key]; m == nil {
		m = &sync.Mutex{}
		t.all[key] = m
	}
	return m
}

func (t *mutexes) TryLock(key string) bool { return t.of(key).TryLock() }
func (t *mutexes) Unlock(key string)       { t.of(key).Unlock() }

// flags keeps a flag for each key.
type flags struct{ all sync.Map }

func (t *flags) of(key string) *atomic.Bool {
	if f, ok := t.all.Load(key); ok {
		return f.(*atomic.Bool)
	}
	f, _ := t.all.LoadOrStore(key, &atomic.Bool{})
	return f.(*atomic.Bool)
}

func (t *flags) TryLock(key string) bool { return t.of(key).CompareAndSwap(false, true) }
func (t *flags) Unlock(key string)       { t.of(key).Store(false) }

// flights makes an entry for each lock, with what others could wait for, as
// golang.org/x/sync/singleflight does for each call.
type flights struct {
	mu  sync.Mutex
	all map[string]*flight
}

type flight struct{ done sync.WaitGroup }

func (t *flights) TryLock(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.all[key]; ok {
		return false
	}
	f := &flight{}
	f.done.Add(1)
	t.all[key] = f
	return true
}

func (t *flights) Unlock(key string) {
	t.mu.Lock()
	f := t.all[key]
	delete(t.all, key)
	t.mu.Unlock()
	f.done.Done()
}

// Names are n different keys.
func Names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = "tenant-" + strconv.Itoa(i)
	}
	return all
}

// Allocs is how many objects one lock and unlock of a known key allocates.
func Allocs(t Table, names []string) float64 {
	const times = 10_000
	round(t, names)
	before := memory()
	for i := range times {
		t.TryLock(names[i%len(names)])
		t.Unlock(names[i%len(names)])
	}
	return float64((memory().Mallocs - before.Mallocs) / times)
}

// Kept is how many bytes are left of a table in which n keys were locked at once
// and then unlocked.
func Kept(p Peer, n int) float64 {
	t := p.New()
	before := memory()
	round(t, Names(n))
	kept := float64(memory().HeapAlloc) - float64(before.HeapAlloc)
	runtime.KeepAlive(t)
	return max(kept, 0)
}

func round(t Table, names []string) {
	for _, k := range names {
		t.TryLock(k)
	}
	for _, k := range names {
		t.Unlock(k)
	}
}

func memory() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC() // the second one frees what sync.Pool keeps over the first
	runtime.ReadMemStats(&m)
	return m
}
