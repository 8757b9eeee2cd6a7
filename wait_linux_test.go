package solehold_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
)

// Every waiter gets the directory, one after the other; none is forgotten.
func TestWaitersOfManyProcesses(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	r := rising{t: t, last: lock.Token()}
	const waiters = 6
	type got struct {
		answer
		from *agent
	}
	answers := make(chan got)
	for range waiters {
		a := start(t)
		a.waits(t, dir)
		go func() {
			an := answer{Waiting: true}
			for an.Waiting {
				an = answer{}
				if a.out.Decode(&an) != nil {
					return
				}
			}
			answers <- got{an, a}
		}()
	}
	must(t, lock.Release())
	for i := range waiters {
		select {
		case g := <-answers:
			wantFree(t, g.answer)
			r.next(g.Token, "waiting")
			if i%2 == 0 {
				g.from.must(t, order{Do: "release"})
			} else {
				g.from.kill()
			}
		case <-after(t, patience):
			t.Fatalf("waiter %d was forgotten", i)
		}
	}
}

func TestWaitersOfOneProcess(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	const waiters = 8
	waiting, locks := make(chan *solehold.HeldError, waiters), make(chan *solehold.Lock)
	for range waiters {
		go func() {
			l, err := solehold.Acquire(context.Background(), dir, &solehold.Options{
				Wait: solehold.WaitForever, OnWait: func(h *solehold.HeldError) { waiting <- h },
			})
			if err != nil {
				t.Error(err)
			}
			locks <- l
		}()
	}
	for range waiters {
		wantSelf(t, <-waiting)
	}
	go func() { // some are told of each new holder
		for range waiting {
		}
	}()
	r := rising{t: t}
	for range waiters {
		r.next(lock.Token(), "release")
		must(t, lock.Release())
		select {
		case lock = <-locks:
		case <-after(t, patience):
			t.Fatal("a waiter was forgotten")
		}
	}
	must(t, lock.Release())
}

// OnWait names the holder, and the next one when that changes.
func TestOnWaitNamesTheHolder(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	a, b := start(t), start(t)
	wantFree(t, a.acquire(t, dir))
	b.tell(t, order{Do: "acquire", Dir: dir, With: with{Wait: solehold.WaitForever}})
	if got := b.hear(t); !got.Waiting || got.Owner.PID != a.pid || !got.Owner.Proven {
		t.Errorf("waits for %+v, not for pid %d", got.Owner, a.pid)
	}
	a.kill()
	wantFree(t, b.gets(t))
}

// A waiter in whose way nobody is any more starts at once, however the holder went.
func TestWaiterFollowsCrash(t *testing.T) {
	t.Parallel()
	for range 10 {
		dir := dataDir(t)
		a, b := start(t), start(t)
		wantFree(t, a.acquire(t, dir))
		b.waits(t, dir)
		begin := time.Now()
		a.kill()
		wantFree(t, b.gets(t))
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("hand-over in %v", took)
		}
	}
}

// A waiter survives the removal of everything it watches.
func TestWaiterSurvivesCleanUp(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	a := start(t)
	a.waits(t, dir)
	must(t, removeState(dir))
	testneed.Until(t, "the lock file is back", func() bool { return repaired(t, dir) })
	must(t, lock.Release())
	wantFree(t, a.gets(t))
}

// What ends the wait is the context's cause, not a holder.
func TestWaitEndsWithContext(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	other := start(t)
	wantFree(t, other.acquire(t, dir))
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	_, err := solehold.Acquire(ctx, dir, &solehold.Options{
		Wait: solehold.WaitForever, OnWait: func(*solehold.HeldError) { cancel(why) },
	})
	if !errors.Is(err, why) || errors.Is(err, solehold.ErrHeld) {
		t.Errorf("cancelled: %v", err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	_, err = solehold.Acquire(ctx, dir, &solehold.Options{Wait: solehold.WaitForever})
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, solehold.ErrHeld) {
		t.Errorf("deadline: %v", err)
	}
}

// When the patience given as Wait is over, the error still names the holder.
func TestWaitTimeout(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	other := start(t)
	wantFree(t, other.acquire(t, dir))
	const patience = 100 * time.Millisecond
	begin := time.Now()
	_, err := solehold.Acquire(context.Background(), dir, &solehold.Options{Wait: patience})
	var held *solehold.HeldError
	if !errors.As(err, &held) || held.Waited < patience || held.Holder().PID != other.pid {
		t.Errorf("%v: %+v", err, held)
	}
	if took := time.Since(begin); took < patience || took > patience+2*time.Second {
		t.Errorf("waited %v", took)
	}
}

// Waiting is sleeping: nobody is woken while nothing happens.
func TestWaitingCostsNothing(t *testing.T) {
	dir := dataDir(t)
	hold(t, dir)
	a := start(t)
	a.waits(t, dir)
	<-after(t, 200*time.Millisecond) // what follows the start is over
	before := switches(t, a.pid)
	<-after(t, time.Second)
	if n := switches(t, a.pid) - before; n > 5 {
		t.Errorf("woken %d times in a second", n)
	}
}

// switches counts how often the threads of a process gave up the processor.
func switches(t *testing.T, pid int) int {
	t.Helper()
	threads, err := procfs.Default().Threads(pid)
	must(t, err)
	sum := 0
	for _, tid := range threads {
		sum += voluntary(t, pid, tid)
	}
	return sum
}

// Waiting is for a holder, not for a directory to appear.
func TestWaitDoesNotWaitForFailures(t *testing.T) {
	t.Parallel()
	_, err := solehold.Acquire(context.Background(), dataDir(t)+"/missing", &solehold.Options{Wait: time.Hour})
	if !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
