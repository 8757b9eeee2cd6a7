// Package keylock locks keys in one process: names of data directories, tenants,
// files. A key that nobody has or wants costs nothing, neither before its first
// lock nor after its last.
//
//	table := keylock.New[string]()
//	if !table.TryLock("kb") { ... somebody has it }
//	defer table.Unlock("kb")
//
// It excludes goroutines of one process only; package solehold excludes processes.
package keylock

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
)

// shards spread the keys, so that goroutines with different keys seldom meet.
const shards = 64

// shrink is how large an empty part of the table may have been before its memory
// is given back: a map of Go keeps the room that it has once had.
const shrink = 64

// Table is a set of locks by key. Its methods may be called from any goroutine.
type Table[K comparable] struct {
	seed  maphash.Seed
	parts [shards]part[K]
}

// part is the keys of one shard. What is held and who waits are apart: so a lock
// that nobody disputes is one look into a map, and its end another one.
type part[K comparable] struct {
	mu      sync.Mutex
	held    map[K]struct{}
	waiting map[K][]chan struct{} // first come first served; nil where nobody waits
	peak    int
	_       [64]byte // neighbours do not share a cache line
}

// New makes an empty table.
func New[K comparable]() *Table[K] {
	t := &Table[K]{seed: maphash.MakeSeed()}
	for i := range t.parts {
		t.parts[i].held = map[K]struct{}{}
	}
	return t
}

func (t *Table[K]) part(key K) *part[K] {
	return &t.parts[maphash.Comparable(t.seed, key)%shards]
}

// TryLock locks key unless it is locked, and reports whether it did.
func (t *Table[K]) TryLock(key K) bool {
	p := t.part(key)
	p.mu.Lock()
	taken := p.take(key)
	p.mu.Unlock()
	return taken
}

// take marks key as held and reports whether it was not.
func (p *part[K]) take(key K) bool {
	before := len(p.held)
	p.held[key] = struct{}{}
	p.peak = max(p.peak, len(p.held))
	return len(p.held) > before
}

// Lock locks key, waiting for it in turn. The error is the cause of ctx, and then
// key is not locked; a ctx that has ended locks nothing.
func (t *Table[K]) Lock(ctx context.Context, key K) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p := t.part(key)
	p.mu.Lock()
	if p.take(key) {
		p.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	if p.waiting == nil {
		p.waiting = map[K][]chan struct{}{}
	}
	p.waiting[key] = append(p.waiting[key], turn)
	p.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	if !p.leave(key, turn) { // it was given to us just now
		t.Unlock(key)
	}
	return context.Cause(ctx)
}

// leave takes a waiter out; false says that its turn has come already.
func (p *part[K]) leave(key K, turn chan struct{}) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.waiting[key], turn)
	if i >= 0 {
		p.wait(key, slices.Delete(p.waiting[key], i, i+1))
	}
	return i >= 0
}

// wait notes who waits for key.
func (p *part[K]) wait(key K, queue []chan struct{}) {
	if p.waiting[key] = queue; len(queue) > 0 {
		return
	}
	if delete(p.waiting, key); len(p.waiting) == 0 {
		p.waiting = nil
	}
}

// Unlock unlocks key, or hands it to who has waited longest. It panics if key is
// not locked: somebody else's lock would be the next to be lost.
func (t *Table[K]) Unlock(key K) {
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if queue := p.waiting[key]; len(queue) > 0 {
		close(queue[0])
		p.wait(key, queue[1:])
		return
	}
	before := len(p.held)
	if delete(p.held, key); len(p.held) == before {
		panic("keylock: Unlock of a key that is not locked") //archtest:allow panic as sync.Mutex does: the caller is wrong, and going on would unlock for somebody else
	}
	if len(p.held) == 0 && p.peak > shrink {
		p.held, p.peak = map[K]struct{}{}, 0
	}
}

// Len is the number of locked keys.
func (t *Table[K]) Len() int {
	n := 0
	for i := range t.parts {
		p := &t.parts[i]
		p.mu.Lock()
		n += len(p.held)
		p.mu.Unlock()
	}
	return n
}

// holding finds the keys that a context has.
type holding[K comparable] struct {
	table *Table[K]
	key   K
}

// Enter locks key, in turn, and returns a context that has it: with that, or one
// derived from it, Enter comes in again at once. Each leave gives back what its Enter
// took; calling it more often does nothing. So a function that locks may call
// another one that locks the same key, and no goroutine comes in that was not let in.
func (t *Table[K]) Enter(ctx context.Context, key K) (inside context.Context, leave func(), err error) {
	me := holding[K]{t, key}
	if live, ok := ctx.Value(me).(*entry); ok && live.again() {
		return ctx, once(func() {
			if live.leave() {
				t.Unlock(key)
			}
		}), nil
	}
	if err := t.Lock(ctx, key); err != nil {
		return ctx, func() {}, err
	}
	e := &entry{count: 1}
	return context.WithValue(ctx, me, e), once(func() {
		if e.leave() {
			t.Unlock(key)
		}
	}), nil
}

func once(f func()) func() {
	var o sync.Once
	return func() { o.Do(f) }
}

// entry counts how often a context is in.
type entry struct {
	mu    sync.Mutex
	count int
}

// again is false when all have left: then the context has the key no more.
func (e *entry) again() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.count == 0 {
		return false
	}
	e.count++
	return true
}

// leave reports whether that was the last.
func (e *entry) leave() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count--
	return e.count == 0
}
