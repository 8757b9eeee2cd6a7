package solehold_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/testneed"
)

func TestSecondAcquireInProcess(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	alias := filepath.Join(place(t), "alias")
	must(t, os.Symlink(dir, alias))
	for _, path := range []string{dir, dir + "/", alias} {
		_, err := solehold.Acquire(context.Background(), path, nil)
		wantSelf(t, err)
	}
	must(t, lock.Release())
	must(t, lock.Release()) // once more does nothing
	once(t, alias)
}

// The context of a lock gives the same lock again, until the last release.
func TestReentranceByContext(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	derived, cancel := context.WithCancel(lock.Context())
	defer cancel()
	again, err := solehold.Acquire(derived, dir, nil)
	must(t, err)
	if again != lock {
		t.Error("another lock")
	}
	must(t, lock.Release())
	wantKept(t, lock)
	wantHeld(t, start(t).acquire(t, dir))
	must(t, again.Release())
	if !errors.Is(context.Cause(lock.Context()), context.Canceled) {
		t.Errorf("cause %v", context.Cause(lock.Context()))
	}
	if _, err := solehold.Acquire(derived, dir, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("with the context of a released lock: %v", err)
	}
	once(t, dir)
}

// The context bounds the acquisition, not the lock, and its values stay.
func TestLockOutlivesItsContext(t *testing.T) {
	t.Parallel()
	type name struct{}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), name{}, "value"))
	dir := dataDir(t)
	lock, err := solehold.Acquire(ctx, dir, nil)
	must(t, err)
	defer lock.Release()
	cancel()
	wantKept(t, lock)
	if lock.Context().Value(name{}) != "value" {
		t.Error("the values are gone")
	}
}

// The context of one directory's lock says nothing about another directory.
func TestContextOfAnotherLock(t *testing.T) {
	t.Parallel()
	a, b := dataDir(t), dataDir(t)
	lock := hold(t, a)
	hold(t, b)
	_, err := solehold.Acquire(lock.Context(), b, nil)
	wantSelf(t, err)
}

func TestConcurrentAcquiresHaveOneWinner(t *testing.T) {
	t.Parallel()
	for range 20 {
		dir := dataDir(t)
		locks := make(chan *solehold.Lock, 100)
		var all sync.WaitGroup
		for range cap(locks) {
			all.Go(func() {
				lock, err := solehold.Acquire(context.Background(), dir, nil)
				if err == nil {
					locks <- lock
				} else {
					wantSelf(t, err)
				}
			})
		}
		all.Wait()
		if len(locks) != 1 {
			t.Fatalf("%d winners", len(locks))
		}
		must(t, (<-locks).Release())
	}
}

// A refused try by an absolute path asks the kernel nothing.
func TestRefusedTryMakesNoSystemCall(t *testing.T) {
	t.Parallel()
	strace := testneed.Program(t, "strace", "apt-get install strace")
	self, err := os.Executable()
	must(t, err)
	dir, calls := dataDir(t), filepath.Join(t.TempDir(), "calls")
	cmd := exec.Command(strace, "-f", "-qq", "-o", calls, "-e", "trace=%file,%desc", self)
	cmd.Env = append(os.Environ(), partVar+"=agent")
	a := run(t, cmd)
	wantFree(t, a.acquire(t, dir))
	const tries = 2000
	a.must(t, order{Do: "try", Dir: dir, N: tries})
	a.must(t, order{Do: "release"})
	text, err := os.ReadFile(calls)
	must(t, err)
	if n := strings.Count(string(text), "\n"); n > tries/2 {
		t.Errorf("%d system calls with %d refused tries", n, tries)
	}
}

// A lock that nobody refers to any more stays (case C38).
func TestDroppedLockSurvivesGarbageCollection(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	holder := start(t)
	holder.must(t, order{Do: "drop", Dir: dir, N: 100})
	wantHeld(t, start(t).acquire(t, dir))
	wantState(t, dir, "HELD")
}

// Opening and closing the lock file in the holder does not drop its lock (case C37).
func TestOtherDescriptorsDropNothing(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	for range 100 {
		_, err := os.ReadFile(lockFile(dir))
		must(t, err)
		wantState(t, dir, "HELD")
	}
	f, err := os.Open(dir)
	must(t, err)
	must(t, f.Close())
	wantHeld(t, start(t).acquire(t, dir))
	wantKept(t, lock)
}

// Programs that flock their own directory go on working (badger and others do).
func TestFlockOfTheDirectoryDoesNotMeet(t *testing.T) {
	t.Parallel()
	flock := testneed.Program(t, "flock", "apt-get install util-linux")
	dir := dataDir(t)
	hold(t, dir)
	must(t, command(flock, "-n", dir, "true"))
	must(t, command(flock, "-n", lockFile(dir), "true"))
}

func TestLockTellsAboutItself(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	alias := filepath.Join(place(t), "alias")
	must(t, os.Symlink(dir, alias))
	lock, err := solehold.Acquire(context.Background(), alias, &solehold.Options{Name: "kb"})
	must(t, err)
	defer lock.Release()
	must(t, lock.Ready())
	must(t, lock.Log(solehold.Event{Kind: "restart", Detail: "because"}))
	if lock.Dir() != dir || lock.Name() != "kb" || lock.Token() != 1 || lock.Filesystem().Type == "" {
		t.Errorf("%s %s %d %+v", lock.Dir(), lock.Name(), lock.Token(), lock.Filesystem())
	}
	s := state(t, dir)
	if s.Record.State != "ready" || s.Record.Name != "kb" || s.Owner.PID != os.Getpid() || !s.Owner.Proven {
		t.Errorf("status %+v, owner %+v", s, s.Owner)
	}
	if e := events(t, dir, "restart"); len(e) != 1 || e[0].Token != 1 || e[0].PID != os.Getpid() {
		t.Errorf("history %+v", e)
	}
}

// The child that a holder runs is shown as the owner while it shares the lock.
func TestChildIsTheOwner(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock, child := shared(t, dir)
	must(t, lock.SetChild(&solehold.Child{PID: child.pid}))
	s := state(t, dir)
	if s.Record.Child != child.pid || s.Owner.PID != child.pid || s.Owner.Wrapper != os.Getpid() || s.Owner.WrapperGone {
		t.Errorf("status %+v, owner %+v", s, s.Owner)
	}
	must(t, lock.SetChild(nil))
	if s := state(t, dir); s.Record.Child != 0 || s.Owner.PID != os.Getpid() {
		t.Errorf("without a child: %+v, owner %+v", s, s.Owner)
	}
}

func TestOnlyOrExit(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(place(t), "new")
	out, err := first(dir).Output()
	if err != nil || string(out) != "1\n" {
		t.Fatalf("%q, %v", out, err)
	}
	hold(t, dir)
	out, err = first(dir).CombinedOutput()
	text := string(out)
	if err != nil || !strings.Contains(text, dir+" already has its owner: pid") || !strings.HasSuffix(text, "Nothing to do.\n") {
		t.Errorf("held: %q, %v", text, err)
	}
	out, err = first(filepath.Join(dir, "a", "b")).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 73 || strings.Count(string(out), "\n") != 1 {
		t.Errorf("cannot create: %q, %v", out, err)
	}
}
