//go:build linux && solehold_portable

package solehold_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/oslock"
	"github.com/solehold/solehold/internal/record"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// The tests of this file are about what the core for other Unix systems does in its
// own way.

// A removed or replaced lock file is made anew under the anchor, and nobody gets in
// meanwhile.
func TestLockFileIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(string) error{
		"rm": func(dir string) error { return os.Remove(lockFile(dir)) },
		"mv": func(dir string) error { return os.Rename(lockFile(dir), filepath.Join(dir, "aside")) },
		"cp": func(dir string) error {
			next := lockFile(dir) + ".next"
			return errors.Join(os.WriteFile(next, []byte("x"), 0o600), os.Rename(next, lockFile(dir)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			lock := hold(t, dir)
			other := start(t)
			must(t, act(dir))
			wantHeld(t, other.acquire(t, dir))
			testneed.Until(t, "the record is back", func() bool {
				s := state(t, dir)
				return s.State == solehold.Held && s.Record.Class == "live" && s.Token == lock.Token()
			})
			wantKept(t, lock)
			wantHeld(t, other.acquire(t, dir))
			must(t, lock.Release())
			next := other.acquire(t, dir)
			wantFree(t, next)
			if next.Token != lock.Token()+1 {
				t.Errorf("token %d after %d", next.Token, lock.Token())
			}
		})
	}
}

// With the state directory goes the anchor: the holder is told, and does not write
// into what others have made there.
func TestLossOfTheStateIsTold(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(string) error{
		"rm -rf": func(dir string) error { return os.RemoveAll(stateDir(dir)) },
		"mv":     func(dir string) error { return os.Rename(stateDir(dir), stateDir(dir)+".old") },
		"in its place": func(dir string) error {
			return errors.Join(os.Rename(stateDir(dir), stateDir(dir)+".old"), os.Mkdir(stateDir(dir), 0o700))
		},
		"data and all": os.RemoveAll,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			lock := hold(t, dir)
			testneed.Until(t, "the watch is in place", func() bool {
				touch(t, dir)
				return len(events(t, dir, journal.Acquired)) == 1
			})
			must(t, act(dir))
			wantLost(t, lock)
			must(t, lock.Release())
			if _, err := os.Stat(lockFile(dir)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the lost owner made a lock file: %v", err)
			}
		})
	}
}

// A second owner that came in through a removed state directory has a record; the
// first one ends, and the second one's record stays as it is.
func TestSuccessorIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	must(t, os.RemoveAll(stateDir(dir)))
	other := start(t)
	testneed.Until(t, "somebody else has it", func() bool { return other.acquire(t, dir).ok() })
	wantLost(t, lock)
	if s := state(t, dir); s.State != solehold.Held || s.Owner.PID != other.pid {
		t.Errorf("status %+v", s)
	}
	must(t, lock.Release())
	wantHeld(t, start(t).acquire(t, dir))
}

// A child that unlocks for all takes nothing away: the self-check takes lock and
// anchor again before anybody else does.
func TestUnlockedByAChild(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	for _, fd := range lock.Share() {
		must(t, oslock.Unlock(fd, oslock.Owner))
	}
	other := start(t)
	testneed.Until(t, "it is held again", func() bool {
		touch(t, dir)
		return state(t, dir).State == solehold.Held
	})
	wantHeld(t, other.acquire(t, dir))
	wantKept(t, lock)
}

// If somebody else was faster the loss is told, and the other one keeps it.
func TestUnlockedAndTaken(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock, other := hold(t, dir), start(t)
	got := answer{}
	testneed.Until(t, "another one has it", func() bool {
		for _, fd := range lock.Share() {
			oslock.Unlock(fd, oslock.Owner)
		}
		got = other.acquire(t, dir)
		return got.ok()
	})
	touch(t, dir)
	wantLost(t, lock)
	if got.Token <= lock.Token() {
		t.Errorf("token %d after %d", got.Token, lock.Token())
	}
	if s := state(t, dir); s.Owner == nil || s.Owner.PID != other.pid {
		t.Errorf("status %+v", s)
	}
}

// A child that shares the descriptors keeps the directory, and cannot be named.
func TestSharerKeepsTheDirectory(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	holder, third := start(t), start(t)
	wantFree(t, holder.acquire(t, dir))
	child := holder.must(t, order{Do: "share", N: 1}).N
	killAtEnd(t, child)
	holder.kill()
	got := third.acquire(t, dir)
	wantHeld(t, got)
	if got.Owner.Visible() || !strings.Contains(got.Text, "does not tell who has a lock") {
		t.Errorf("owner %+v in %q", got.Owner, got.Text)
	}
	s := third.inspect(t, dir)
	if s.State != solehold.Held || s.Owner == nil || s.Owner.Proven {
		t.Errorf("status %+v", s)
	}
	must(t, unix.Kill(child, unix.SIGKILL))
	testneed.Until(t, "it is free", func() bool { return third.acquire(t, dir).ok() })
}

// A record is looked at again where its writer is dead, since a new owner may not
// have written yet; not where it cannot be told who lives, which stays so.
func TestLooksAgainForTheDead(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	holder := start(t)
	wantFree(t, holder.acquire(t, dir))
	must(t, unix.Kill(holder.pid, unix.SIGSTOP)) // or it would repair its record
	r := *recordOf(t, dir)
	for want, change := range map[bool]func(*record.Record){
		false: func(r *record.Record) { r.Holder.PIDNS++ },
		true:  func(r *record.Record) { r.Holder.StartTicks++; r.Holder.PidfsID = 0 },
	} {
		forged := r
		change(&forged)
		forge(t, dir, forged)
		s := state(t, dir)
		if s.State != solehold.Held || s.Owner.Visible() || solehold.LooksAgain(*s.Owner) != want {
			t.Errorf("looks again: not %t for %+v", want, s.Owner)
		}
	}
}

// What needs /proc says so.
func TestUnsupportedOnOtherUnix(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	hold(t, dir)
	_, err := solehold.Sharers(t.Context(), dir, nil)
	if !errors.Is(err, errors.ErrUnsupported) || solehold.ExitCode(err) != 64 {
		t.Errorf("sharers: %v", err)
	}
}

// A descriptor of the state directory that others have opened is not the holder's: it
// does not have the lock.
func TestSeatNeedsTheHoldersDescription(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	home, err := os.Open(stateDir(dir))
	must(t, err)
	defer home.Close()
	got := start(t, joining(dir, lock.Token()), inheriting(home.Fd())).acquire(t, dir)
	if got.ok() || got.Reason != solehold.Unsupported {
		t.Errorf("with a descriptor of its own: %+v", got)
	}
	got = start(t, joining(dir, lock.Token()), inheriting(lock.Share()...)).acquire(t, dir)
	if !got.ok() || got.Token != lock.Token() {
		t.Errorf("with the holder's: %+v", got)
	}
}

// The seat below a holder is lost with the state that carries the hold.
func TestSeatIsLostWithTheState(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	below := start(t, joining(dir, lock.Token()), inheriting(lock.Share()...))
	wantFree(t, below.acquire(t, dir))
	must(t, os.RemoveAll(stateDir(dir)))
	if got := below.do(t, order{Do: "lost", N: int(patience / time.Millisecond)}); got.ok() {
		t.Error("it was not told")
	}
}

// A user who may not look into the state directory learns that, and not that it is
// free.
func TestHiddenStateIsNotFree(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	hold(t, dir)
	must(t, os.Chmod(stateDir(dir), 0o700))
	stranger := start(t, asUser(nobody))
	if got := stranger.acquire(t, dir); got.ok() || got.Held || got.Reason != solehold.NotPermitted {
		t.Errorf("it starts: %+v", got)
	}
	got := stranger.do(t, order{Do: "inspect", Dir: dir})
	if got.Status.State == solehold.Free {
		t.Errorf("status %+v", got.Status)
	}
}

// The data directory has to lead everybody to a state elsewhere. Without attributes
// it cannot, and a start that was not told of that state would be a second owner.
func TestStateElsewhereMustBeRemembered(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	a := start(t, inOwnMounts)
	top := place(t)
	a.must(t, order{Do: "mount", Args: []string{"ramfs", top, "ramfs", "mode=755"}}) // which has no attributes
	a.must(t, order{Do: "chdir", Dir: top})
	elsewhere := dataDir(t)
	got := a.do(t, order{Do: "acquire", Dir: ".", With: with{StateDir: elsewhere}})
	wantFailure(t, got, refused(elsewhere))
	wantFree(t, a.do(t, order{Do: "acquire", Dir: "."}))
}

// Two starts that come at the same time, before the data directory remembers
// anything, take their state in two places: each sees the other one.
func TestStateElsewhereBesideAnOwner(t *testing.T) {
	t.Parallel()
	original, elsewhere := paired(t)
	lock, err := acquireAt(t, original, elsewhere)
	must(t, err)
	must(t, lock.Release())
	memory := attribute(t, original)
	must(t, unix.Removexattr(original, stateAttr))
	inside := hold(t, original)
	must(t, unix.Setxattr(original, stateAttr, memory, 0)) // as the other one is about to do
	other := start(t)
	wantHeld(t, other.do(t, order{Do: "acquire", Dir: original, With: with{StateDir: elsewhere}}))
	wantHeld(t, other.do(t, order{Do: "acquire", Dir: original}))
	must(t, inside.Release())
	wantFree(t, other.do(t, order{Do: "acquire", Dir: original}))
}

// A data directory that forgets where its state is lets others in, which the holder
// is told.
func TestLossOfTheMemoryIsTold(t *testing.T) {
	t.Parallel()
	dir, elsewhere := paired(t)
	lock, err := acquireAt(t, dir, elsewhere)
	must(t, err)
	must(t, unix.Removexattr(dir, stateAttr))
	testneed.Until(t, "the loss is told", func() bool {
		must(t, os.WriteFile(filepath.Join(elsewhere, "touched"), nil, 0o600))
		must(t, os.Remove(filepath.Join(elsewhere, "touched")))
		return lock.Context().Err() != nil
	})
	wantLost(t, lock)
}

const (
	startsApart = 100
	startsAtOne = 6
)

// Starts with and without a state elsewhere, all at once on a new directory: never
// are two of them owners.
func TestStartsApart(t *testing.T) {
	t.Parallel()
	var all []*agent
	for range startsAtOne {
		all = append(all, start(t))
	}
	owners := map[int]int{}
	for range startsApart {
		dir, elsewhere := paired(t)
		for i, a := range all {
			o := order{Do: "acquire", Dir: dir}
			if i%2 == 0 {
				o.With.StateDir = elsewhere
			}
			a.tell(t, o)
		}
		var had []*agent
		for _, a := range all {
			if a.hear(t).ok() {
				had = append(had, a)
			}
		}
		owners[len(had)]++
		for _, a := range had {
			a.must(t, order{Do: "release"})
		}
	}
	t.Logf("rounds by number of owners: %v", owners)
	if owners[0]+owners[1] != startsApart || owners[1] == 0 {
		t.Errorf("rounds by number of owners: %v", owners)
	}
}

const stateAttr = "user.solehold.state"

func attribute(t *testing.T, dir string) []byte {
	t.Helper()
	buf := make([]byte, 4096)
	n, err := unix.Getxattr(dir, stateAttr, buf)
	must(t, err)
	return buf[:n]
}
