package solehold_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// starters is how many processes try at once.
const starters = 64

// lockers are what a storm can try: ours, and one with the old mistake.
func lockers() map[string]func(dir string) (release func(), err error) {
	return map[string]func(string) (func(), error){"solehold": takeSolehold, "unlinking": takeUnlinking}
}

func takeSolehold(dir string) (func(), error) {
	lock, err := solehold.Acquire(context.Background(), dir, &solehold.Options{NoSync: true})
	if err != nil {
		return nil, err
	}
	return func() { lock.Release() }, nil
}

// takeUnlinking removes its lock file on release: who opened the file before and
// who makes a new one after both get a lock (case C27).
func takeUnlinking(dir string) (func(), error) {
	path := filepath.Join(dir, "unlinked")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, solehold.ErrHeld
	}
	return func() {
		os.Remove(path)
		f.Close()
	}, nil
}

// storm is one of the processes: board, directory, locker, rounds. It begins
// when its input ends.
func storm() {
	b, err := openBoard(os.Args[1])
	rounds, _ := strconv.Atoi(os.Args[4])
	take := lockers()[os.Args[3]]
	if err != nil || take == nil {
		fmt.Fprintln(os.Stderr, os.Args, err)
		os.Exit(1)
	}
	io.Copy(io.Discard, os.Stdin)
	for range rounds {
		release, err := take(os.Args[2])
		switch {
		case err == nil:
			b.enter()
			linger(20) // others may come in
			b.leave()
			release()
		case errors.Is(err, solehold.ErrHeld):
			b.refused.Add(1)
			<-time.After(rand.N(10 * time.Millisecond)) // or nobody leaves the owner the processor
		default:
			b.failed.Add(1)
			fmt.Fprintln(os.Stderr, "storm:", err)
		}
	}
}

// linger passes some time without giving up the processor.
func linger(calls int) {
	for range calls {
		unix.Getppid()
	}
}

// weather is what a storm does to a directory.
type weather struct {
	locker  string
	rounds  int
	remover bool
}

// storms runs the starters to their end and returns what they saw.
func storms(t *testing.T, dir string, w weather) *board {
	t.Helper()
	b, path := newBoard(t)
	gun, fire, err := os.Pipe()
	must(t, err)
	var all []*exec.Cmd
	for range starters {
		cmd := partOf("stormer", path, dir, w.locker, strconv.Itoa(w.rounds))
		cmd.Stdin = gun
		must(t, cmd.Start())
		t.Cleanup(func() { cmd.Process.Kill() })
		all = append(all, cmd)
	}
	begin := time.Now()
	gun.Close()
	if w.remover {
		defer background(t, partOf("remover", dir, strconv.FormatUint(seeded(t).Uint64(), 10)))()
	}
	fire.Close()
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d starters x %d rounds in %v: %d acquired, %d refused, %d failed, %d overlaps", starters, w.rounds,
		time.Since(begin).Round(time.Millisecond), b.wins.Load(), b.refused.Load(), b.failed.Load(), b.overlaps.Load())
	return b
}

func TestStormHasOneOwner(t *testing.T) {
	dir := dataDir(t)
	b := storms(t, dir, weather{locker: "solehold", rounds: soak(1000)})
	if b.overlaps.Load() != 0 || b.failed.Load() != 0 || b.wins.Load() < starters {
		t.Error("the storm was not survived")
	}
	if last := once(t, dir); last != uint64(b.wins.Load())+1 {
		t.Errorf("token %d after %d acquisitions", last, b.wins.Load())
	}
	h := history(t, dir)
	if listed := events(t, dir, journal.Refused); h.Skipped != 0 || len(listed) == 0 || len(listed) > 200 {
		t.Errorf("history: %d refusals listed, %d lines damaged", len(listed), h.Skipped)
	}
}

// The harness sees two owners where there are two.
func TestStormFindsPlantedBug(t *testing.T) {
	b := storms(t, dataDir(t), weather{locker: "unlinking", rounds: 100})
	if b.overlaps.Load() == 0 {
		t.Error("the bad lock was not caught")
	}
}

// One owner also while somebody keeps deleting the lock file and all of
// .solehold.
func TestStormWithRemoverHasOneOwner(t *testing.T) {
	b := storms(t, dataDir(t), weather{locker: "solehold", rounds: soak(1000), remover: true})
	if b.overlaps.Load() != 0 || b.failed.Load() != 0 || b.wins.Load() == 0 {
		t.Error("the storm was not survived")
	}
}

// removeAtRandom deletes at random until its input ends: directory, seed.
func removeAtRandom() {
	seed, _ := strconv.ParseUint(os.Args[2], 10, 64)
	random := rand.New(rand.NewPCG(seed, seed))
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	dir := os.Args[1]
	for {
		timer := time.NewTimer(time.Duration(random.IntN(2000)) * time.Microsecond)
		select {
		case <-timer.C:
		case <-ended:
			return
		}
		switch random.IntN(4) {
		case 0:
			os.RemoveAll(stateDir(dir))
		case 1:
			os.Rename(lockFile(dir), filepath.Join(dir, "away"))
		default:
			os.Remove(lockFile(dir))
		}
	}
}

// holdUntilKilled takes and releases without a pause: board, directory.
func holdUntilKilled() {
	b, err := openBoard(os.Args[1])
	if err != nil {
		os.Exit(1)
	}
	for {
		lock, err := solehold.Acquire(context.Background(), os.Args[2], nil)
		if err != nil {
			fmt.Fprintln(os.Stderr, "victim:", err)
			os.Exit(1)
		}
		b.last.Store(lock.Token())
		b.holding.Store(lock.Token())
		b.enter()
		lock.Ready()
		linger(1000)
		b.leave()
		b.holding.Store(0)
		lock.Release()
	}
}

// A holder that is killed at any point leaves nothing in the way: the next one
// starts at once, with a higher token, and history tells of the crash.
func TestKillAtRandomPoints(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	random := seeded(t)
	inside := 0
	for range soak(1000) {
		b, path := newBoard(t)
		victim := partOf("victim", path, dir)
		must(t, victim.Start())
		t.Cleanup(func() { victim.Process.Kill() })
		testneed.Until(t, "the victim runs", func() bool { return b.wins.Load() > 0 })
		<-time.After(time.Duration(random.IntN(1000)) * time.Microsecond)
		must(t, victim.Process.Kill())
		victim.Wait()
		if next := once(t, dir); next <= b.last.Load() {
			t.Fatalf("token %d after %d", next, b.last.Load())
		}
		if token := b.holding.Load(); token != 0 {
			inside++
			wantVanished(t, dir, token, victim.Process.Pid)
		}
	}
	t.Logf("%d of %d were killed while they held the directory", inside, soak(1000))
	if inside == 0 {
		t.Error("no kill hit a holder")
	}
}

func wantVanished(t *testing.T, dir string, token uint64, pid int) {
	t.Helper()
	gone := events(t, dir, journal.Vanished)
	if len(gone) == 0 {
		t.Fatalf("history says nothing of token %d", token)
	}
	if e := gone[len(gone)-1]; e.Token != token || e.PID != pid || e.Class != "crash" {
		t.Errorf("history tells of %+v, want token %d of pid %d", e, token, pid)
	}
}

// A process that has just forked shares its parent's descriptors until it runs
// its program. That must not look like a holder.
func TestNoFalseRefusalBesideForks(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 8)
	for range 8 {
		go func() {
			n := 0
			for ; ctx.Err() == nil; n++ {
				command("true")
			}
			ended <- n
		}()
	}
	refusals, rounds := 0, soak(20_000)
	for range rounds {
		lock, err := solehold.Acquire(context.Background(), dir, &solehold.Options{NoSync: true})
		if err != nil {
			refusals++
			t.Log(err)
			continue
		}
		must(t, lock.Release())
	}
	cancel()
	forks := 0
	for range 8 {
		forks += <-ended
	}
	t.Logf("%d rounds beside %d forks: %d false refusals", rounds, forks, refusals)
	if refusals != 0 {
		t.Errorf("%d false refusals", refusals)
	}
}
