package solehold_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/record"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// shared takes dir in this process, with a child that shares the descriptors.
func shared(t *testing.T, dir string) (*solehold.Lock, *agent) {
	t.Helper()
	lock := hold(t, dir)
	return lock, start(t, inheriting(lock.Share()...))
}

// usurp makes other the owner: the child unlocks for everyone, which the holder
// may notice and undo a few times.
func usurp(t *testing.T, dir string, child, other *agent) (won answer) {
	t.Helper()
	testneed.Until(t, "another process takes the directory", func() bool {
		child.must(t, order{Do: "unlock"})
		won = other.acquire(t, dir)
		return won.ok()
	})
	return won
}

// A child that shares the descriptors can unlock for everyone. When another
// process then takes the directory, the holder is told.
func TestG7LossIsTold(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock, child := shared(t, dir)
	usurp(t, dir, child, start(t))
	wantLost(t, lock)
}

// A holder that lets go before it has noticed leaves the record of the next owner
// alone, and says that it has lost the lock.
func TestLateReleaseKeepsTheNextRecord(t *testing.T) {
	t.Parallel()
	for range 10 {
		dir := dataDir(t)
		lock, child := shared(t, dir)
		other := start(t)
		usurp(t, dir, child, other)
		lock.Release()
		if r := recordOf(t, dir); r.Holder.PID != other.pid || r.State == record.Released || r.Token <= lock.Token() {
			t.Fatalf("the record is %s of pid %d with token %d, want that of pid %d above token %d", r.State, r.Holder.PID, r.Token, other.pid, lock.Token())
		}
		if len(events(t, dir, journal.Lost)) != 1 || len(events(t, dir, journal.Released)) != 0 {
			t.Error("the loss is not told, or a release is")
		}
		other.kill()
		child.kill()
	}
}

// The same where the lock file was removed in between, so that the other owner
// has another file.
func TestG7LossIsToldWithAnotherFile(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(string) error{
		"lock":  func(dir string) error { return os.Remove(lockFile(dir)) },
		"state": removeState,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			holder, other := start(t), start(t)
			wantFree(t, holder.acquire(t, dir))
			killAtEnd(t, holder.must(t, order{Do: "share", N: 1}).N)
			testneed.Until(t, "another process takes the directory", func() bool {
				holder.must(t, order{Do: "child", Child: &order{Do: "unlock"}})
				must(t, unix.Kill(holder.pid, unix.SIGSTOP)) // or it would notice the removal first
				must(t, remove(dir))
				won := other.acquire(t, dir).ok()
				must(t, unix.Kill(holder.pid, unix.SIGCONT))
				if !won {
					testneed.Until(t, "the lock file is put back", func() bool { return state(t, dir).State == solehold.Held })
				}
				return won
			})
			if got := holder.do(t, order{Do: "lost", N: int(patience.Milliseconds())}); got.Code != 76 {
				t.Errorf("two owners, and the first is not told: %+v", got)
			}
		})
	}
}

// A loser that releases leaves the new owner's lock and record alone.
func TestG7LoserLeavesSuccessorAlone(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock, child := shared(t, dir)
	other := start(t)
	won := usurp(t, dir, child, other)
	touch(t, dir)
	wantLost(t, lock)
	lock.Ready()
	lock.Release()
	child.kill()
	if r := recordOf(t, dir); r.Token != won.Token || r.Holder.PID != other.pid {
		t.Errorf("the record is now %+v, want token %d of pid %d", r, won.Token, other.pid)
	}
	wantHeld(t, start(t).acquire(t, dir))
	other.kill()
	if next := once(t, dir); next <= won.Token {
		t.Errorf("token %d after %d", next, won.Token)
	}
}

// When nobody took the directory meanwhile, it is taken again, and history says so.
func TestG7UnlockedIsRetaken(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock, child := shared(t, dir)
	checked(t, dir) // from here on it is watched
	child.must(t, order{Do: "unlock"})
	touch(t, dir)
	testneed.Until(t, "history says that it was taken again", func() bool {
		return said(t, dir, journal.LockRemoved, "taken again")
	})
	wantKept(t, lock)
	child.kill()
	wantHeld(t, start(t).acquire(t, dir))
}

// checked makes the holder check its lock and returns when it has: it has put a
// removed lock file back.
func checked(t *testing.T, dir string) {
	t.Helper()
	before := len(events(t, dir, journal.LockRemoved))
	must(t, os.Remove(lockFile(dir)))
	testneed.Until(t, "the lock file is put back", func() bool {
		return len(events(t, dir, journal.LockRemoved)) > before && state(t, dir).State == solehold.Held
	})
}

func said(t *testing.T, dir string, kind journal.Kind, text string) bool {
	t.Helper()
	for _, e := range events(t, dir, kind) {
		if strings.Contains(e.Detail, text) {
			return true
		}
	}
	return false
}

// Somebody who cleans up does not make a second owner: the mark keeps starters
// out until the lock file is there again (case C26).
func TestG7CleanUpIsRepaired(t *testing.T) {
	t.Parallel()
	for name, clean := range map[string]func(dir string) error{
		"rm":     func(dir string) error { return os.Remove(lockFile(dir)) },
		"mv":     func(dir string) error { return os.Rename(lockFile(dir), filepath.Join(dir, "x")) },
		"mv dir": func(dir string) error { return os.Rename(stateDir(dir), filepath.Join(dir, "x")) },
		"rm -rf": removeState,
		"cp": func(dir string) error {
			return replace(lockFile(dir), "something else")
		},
		"dir in place": func(dir string) error {
			err := errors.Join(removeState(dir), os.Mkdir(stateDir(dir), 0o700))
			if errors.Is(err, fs.ErrExist) {
				return nil // the holder was faster
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			lock := hold(t, dir)
			other := start(t)
			other.tell(t, order{Do: "try", Dir: dir, N: 2000})
			must(t, clean(dir))
			testneed.Until(t, "lock and history are back", func() bool { return repaired(t, dir) })
			if got := other.hear(t); !got.ok() {
				t.Errorf("a starter meanwhile: %+v", got)
			}
			wantKept(t, lock)
			if r := recordOf(t, dir); r.Token != lock.Token() || r.Holder.PID != os.Getpid() {
				t.Errorf("record %+v", r)
			}
			must(t, lock.Release())
			if next := once(t, dir); next <= lock.Token() {
				t.Errorf("token %d after %d", next, lock.Token())
			}
		})
	}
}

// removeState is rm -rf. Where the holder puts files back meanwhile the
// directory itself may stay.
func removeState(dir string) error {
	err := os.RemoveAll(stateDir(dir))
	if errors.Is(err, unix.ENOTEMPTY) {
		return nil
	}
	return err
}

func repaired(t *testing.T, dir string) bool {
	t.Helper()
	return state(t, dir).State == solehold.Held && said(t, dir, journal.LockRemoved, "made anew")
}

// replace puts another file in the place of one, as cp --remove-destination does.
func replace(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// However often it is removed, it comes back, and so does the history.
func TestG7RepeatedCleanUpIsRepaired(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	for range 100 {
		must(t, removeState(dir))
		testneed.Until(t, "lock and history are back", func() bool { return repaired(t, dir) })
	}
	wantKept(t, lock)
}

// A record that was damaged in place is written anew.
func TestG7DamagedRecordIsRepaired(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	overwrite(t, lockFile(dir), []byte("what is this file?"))
	testneed.Until(t, "the record is back", func() bool {
		s := state(t, dir)
		return s.Record.Class == "live" && s.Token == lock.Token()
	})
	wantKept(t, lock)
}

// A removed data directory cannot be held any more.
func TestG7RemovedDirectoryIsLost(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	testneed.Until(t, "it is removed, between two repairs", func() bool { return os.RemoveAll(dir) == nil })
	wantLost(t, lock)
	must(t, os.Mkdir(dir, 0o755)) // another one
	wantFree(t, start(t).acquire(t, dir))
}

// A directory that is moved stays held where it is, and its old name is free for
// another one.
func TestG7MovedDirectoryStaysHeld(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	moved := dir + "-moved"
	must(t, os.Rename(dir, moved))
	must(t, os.Mkdir(dir, 0o755))
	testneed.Until(t, "history tells of the move", func() bool { return len(events(t, moved, journal.Moved)) == 1 })
	wantKept(t, lock)
	if lock.Dir() != moved {
		t.Errorf("it is in %s, not in %s", lock.Dir(), moved)
	}
	wantHeld(t, start(t).acquire(t, moved))
	hold(t, dir)
}
