package keylock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/solehold/solehold/keylock"
)

func TestTryLock(t *testing.T) {
	table := keylock.New[string]()
	if !table.TryLock("a") || table.TryLock("a") || !table.TryLock("b") || table.Len() != 2 {
		t.Fatal("a key was locked twice, or another one not at all")
	}
	table.Unlock("a")
	if !table.TryLock("a") {
		t.Error("a key that was unlocked stays locked")
	}
}

func TestUnlockOfNothing(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	keylock.New[int]().Unlock(1)
}

// Those who wait get the key in the order in which they came, one at a time.
func TestLockInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := keylock.New[string]()
		table.TryLock("k")
		var order []int
		for i := range 20 {
			go func() {
				if err := table.Lock(t.Context(), "k"); err != nil {
					t.Error(err)
				}
				order = append(order, i) // alone: the race detector looks
				table.Unlock("k")
			}()
			synctest.Wait()
		}
		table.Unlock("k")
		synctest.Wait()
		if fmt.Sprint(order) != "[0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19]" || table.Len() != 0 {
			t.Errorf("%v, %d left", order, table.Len())
		}
	})
}

// Who gives up waiting leaves no trace, also when its turn comes in that moment.
func TestLockGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := keylock.New[string]()
		table.TryLock("k")
		why := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		if err := table.Lock(ctx, "k"); !errors.Is(err, why) {
			t.Errorf("%v", err)
		}
		table.Unlock("k")
		if table.Len() != 0 {
			t.Error("it left a waiter")
		}
		if err := table.Lock(ctx, "k"); !errors.Is(err, why) || table.Len() != 0 {
			t.Errorf("a context that has ended: %v", err)
		}
	})
}

// By force: many goroutines, few keys, waits that are given up. A counter for each key
// is only touched by its owner.
func TestExclusion(t *testing.T) {
	t.Parallel()
	table := keylock.New[int]()
	var inside, counts [5]int
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 3000 {
				k := (g + i) % 5
				if i%3 == 0 {
					if !table.TryLock(k) {
						continue
					}
				} else {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*100*time.Microsecond)
					err := table.Lock(ctx, k)
					cancel()
					if err != nil {
						continue
					}
				}
				if inside[k]++; inside[k] != 1 {
					t.Errorf("%d owners of key %d", inside[k], k)
				}
				counts[k]++
				runtime.Gosched()
				inside[k]--
				table.Unlock(k)
			}
		})
	}
	wg.Wait()
	if table.Len() != 0 {
		t.Errorf("%d keys are left", table.Len())
	}
	for k, n := range counts {
		if n == 0 {
			t.Errorf("key %d was never had", k)
		}
	}
}

// A context that is in comes in again; another one does not, and one whose Enter
// was left has nothing any more.
func TestEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := keylock.New[string]()
		in, leave, err := table.Enter(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		again, leaveAgain, err := table.Enter(in, "k")
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := table.Enter(short, "k"); err == nil {
			t.Error("a stranger came in")
		}
		leave()
		leave()
		if table.TryLock("k") {
			t.Error("free while one is inside")
		}
		leaveAgain()
		if !table.TryLock("k") {
			t.Error("not free when all have left")
		}
		late, cancel := context.WithTimeout(again, time.Second)
		defer cancel()
		if _, _, err := table.Enter(late, "k"); err == nil {
			t.Error("a context that has left came in again")
		}
	})
}

// A million keys leave nothing behind, and a lock that nobody disputes allocates
// nothing.
func TestMemory(t *testing.T) {
	table := keylock.New[string]()
	if n := testing.AllocsPerRun(1000, func() { table.TryLock("kb"); table.Unlock("kb") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	before := heap()
	keys := make([]string, 1_000_000)
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}
	for _, k := range keys {
		table.TryLock(k)
	}
	for _, k := range keys {
		table.Unlock(k)
	}
	clear(keys)
	keys = nil
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("%d bytes are left", grown)
	}
	runtime.KeepAlive(table)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkTryLock(b *testing.B) {
	table := keylock.New[string]()
	keys := [4]string{"a", "b", "c", "d"}
	for i := 0; b.Loop(); i++ {
		k := keys[i%4]
		table.TryLock(k)
		table.Unlock(k)
	}
}

// A key that many want at once is handed on to each of them, and those who give up
// in the very moment of their turn neither keep it nor lose it.
func TestTurnMeetsGivingUp(t *testing.T) {
	t.Parallel()
	table := keylock.New[int]()
	for range 2000 {
		table.TryLock(1)
		ctx, cancel := context.WithCancel(t.Context())
		end := make(chan error, 1)
		go func() { end <- table.Lock(ctx, 1) }()
		go cancel()
		table.Unlock(1)
		if err := <-end; err == nil {
			table.Unlock(1)
		}
		if !table.TryLock(1) {
			t.Fatal("nobody has it, and it is locked")
		}
		table.Unlock(1)
	}
}
