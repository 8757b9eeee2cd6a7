//go:build linux && solehold_portable

package solehold_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/oslock"
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
			eventually(t, "the record is back", func() bool {
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
			eventually(t, "the watch is in place", func() bool {
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
	eventually(t, "somebody else has it", func() bool { return other.acquire(t, dir).ok() })
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
	eventually(t, "it is held again", func() bool {
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
	eventually(t, "another one has it", func() bool {
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
	eventually(t, "it is free", func() bool { return third.acquire(t, dir).ok() })
}

// What needs /proc says so, and a program below its wrapper is refused like any other.
func TestUnsupportedOnOtherUnix(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	hold(t, dir)
	_, err := solehold.Sharers(t.Context(), dir, nil)
	if !errors.Is(err, errors.ErrUnsupported) || solehold.ExitCode(err) != 64 {
		t.Errorf("sharers: %v", err)
	}
	wrapper := start(t)
	inside := dataDir(t)
	wantFree(t, wrapper.acquire(t, inside))
	child := wrapper.must(t, order{Do: "share", N: 1}).N
	killAtEnd(t, child)
	got := wrapper.do(t, order{Do: "child", Child: &order{Do: "acquire", Dir: inside}})
	wantHeld(t, got)
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
