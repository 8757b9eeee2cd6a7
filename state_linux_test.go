package solehold_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// paired makes an empty data directory and a place for its state.
func paired(t *testing.T) (dir, state string) {
	t.Helper()
	dir, state = dataDir(t), filepath.Join(place(t), "state")
	must(t, os.Mkdir(state, 0o700))
	err := unix.Setxattr(dir, "user.solehold.try", nil, 0)
	testneed.Feature(t, err == nil, "user extended attributes", "run the tests with TMPDIR on ext4, xfs, btrfs or a new tmpfs")
	must(t, unix.Removexattr(dir, "user.solehold.try"))
	return dir, state
}

// With its state elsewhere the data directory stays empty, and later calls find
// the state without being told.
func TestStateElsewhere(t *testing.T) {
	t.Parallel()
	dir, elsewhere := paired(t)
	lock, err := acquireAt(t, dir, elsewhere)
	must(t, err)
	wantEmpty(t, dir)
	other := start(t)
	wantHeld(t, other.acquire(t, dir))
	wantHeld(t, other.do(t, order{Do: "acquire", Dir: dir, With: with{StateDir: elsewhere}}))
	if s := state(t, dir); s.State != solehold.Held || s.Token != 1 || s.Record.Class != "live" {
		t.Errorf("status %+v", s)
	}
	must(t, lock.Release())
	if next := once(t, dir); next != 2 {
		t.Errorf("token %d, want 2", next)
	}
	wantEmpty(t, dir)
}

// Where the data directory cannot remember its state, who looks a second time for
// the name of an owner looks where it was told to look first.
func TestSharersOfAStateElsewhereAreNamed(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	dir, elsewhere := dataDir(t), dataDir(t) // the first one may only be read
	must(t, os.Chown(elsewhere, nobody, nobody))
	holder, other := start(t, asUser(nobody)), start(t, asUser(nobody))
	there := order{Do: "acquire", Dir: dir, With: with{StateDir: elsewhere}}
	wantFree(t, holder.do(t, there))
	child := holder.must(t, order{Do: "share", N: 1}).N
	killAtEnd(t, child)
	holder.kill()
	got := other.do(t, there)
	wantHeld(t, got)
	if got.Owner.PID != child || got.Owner.Wrapper != holder.pid || !got.Owner.WrapperGone {
		t.Errorf("owner %+v", got.Owner)
	}
}

// A removed lock file is put back there as well.
func TestStateElsewhereIsRepaired(t *testing.T) {
	t.Parallel()
	dir, elsewhere := paired(t)
	lock, err := acquireAt(t, dir, elsewhere)
	must(t, err)
	must(t, os.Remove(filepath.Join(elsewhere, "lock")))
	testneed.Until(t, "the lock file is back", func() bool { return state(t, dir).State == solehold.Held })
	wantKept(t, lock)
	wantHeld(t, start(t).acquire(t, dir))
	wantEmpty(t, dir)
}

// A copy of the data directory carries the memory, and does not fall for it.
func TestStateElsewhereIsNotCopied(t *testing.T) {
	t.Parallel()
	dir, elsewhere := paired(t)
	lock, err := acquireAt(t, dir, elsewhere)
	must(t, err)
	copied := dir + "-copied"
	must(t, command("cp", "-a", dir, copied))
	hold(t, copied)
	wantKept(t, lock)
	if s := state(t, copied); s.Token != 1 || s.State != solehold.Held {
		t.Errorf("status %+v", s)
	}
}

func TestStateOfAnotherDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	dir, elsewhere := paired(t)
	lock, err := acquireAt(t, dir, elsewhere)
	must(t, err)
	must(t, lock.Release())
	_, err = acquireAt(t, dataDir(t), elsewhere)
	wantFailure(t, failure(err), refused(elsewhere))
	second := filepath.Join(place(t), "second")
	must(t, os.Mkdir(second, 0o700))
	_, err = acquireAt(t, dir, second)
	wantFailure(t, failure(err), refused(dir))
	wantEmpty(t, second)
	_, err = acquireAt(t, dir, filepath.Join(second, "missing"))
	wantFailure(t, failure(err), cannotCreate(unix.ENOENT, filepath.Join(second, "missing")))
}

// A directory that has its state inside does not get a second one, whose tokens
// would begin anew; least of all by a starter that is refused.
func TestSecondStateIsRefused(t *testing.T) {
	t.Parallel()
	dir, elsewhere := paired(t)
	lock := hold(t, dir)
	a := start(t)
	got := a.do(t, order{Do: "acquire", Dir: dir, With: with{StateDir: elsewhere}})
	if got.ok() {
		t.Fatal("two owners")
	}
	wantState(t, dir, "HELD")
	must(t, lock.Release())
	_, err := acquireAt(t, dir, elsewhere)
	wantFailure(t, failure(err), refused(dir))
	if next := once(t, dir); next != 2 {
		t.Errorf("token %d, want 2", next)
	}
}

// A backup that was taken while the service ran is free, says why, and does not
// touch the original (case C09).
func TestRestoredCopy(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	copied := dir + "-restored"
	must(t, command("cp", "-a", dir, copied))
	if s := state(t, copied); s.State != solehold.Free || s.Record.Class != "stale" || s.Record.Why != "restored-copy" {
		t.Errorf("status %+v", s)
	}
	wantState(t, dir, "HELD")
	got := start(t).acquire(t, copied)
	wantFree(t, got)
	if got.Token <= lock.Token() {
		t.Errorf("token %d, the copied one was %d", got.Token, lock.Token())
	}
	wantState(t, copied, "HELD")
	wantState(t, dir, "HELD")
	wantKept(t, lock)
}

// Options.Create makes one directory, for its owner alone, and no parents.
func TestCreate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(place(t), "new")
	lock, err := solehold.Acquire(context.Background(), dir, &solehold.Options{Create: true})
	must(t, err)
	defer lock.Release()
	st, err := os.Stat(dir)
	must(t, err)
	if st.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", st.Mode())
	}
	_, err = solehold.Acquire(context.Background(), filepath.Join(dir, "a/b"), &solehold.Options{Create: true})
	wantFailure(t, failure(err), cannotCreate(unix.ENOENT, filepath.Join(dir, "a/b")))
}

// Strict accepts a local file system and refuses a stacked one, which otherwise
// is a warning (case C23).
func TestStrict(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	top := place(t)
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		must(t, os.Mkdir(filepath.Join(top, name), 0o755))
	}
	a := start(t, inOwnMounts)
	a.must(t, order{Do: "mount", Args: []string{"tmpfs", top, "tmpfs", "mode=755"}})
	strict := a.do(t, order{Do: "acquire", Dir: top, With: with{Strict: true}})
	wantFree(t, strict)
	if len(strict.Warnings) != 0 {
		t.Errorf("tmpfs: %q", strict.Warnings)
	}
	inside := dataDir(t)
	b := start(t, inOwnMounts)
	for _, name := range []string{"lower", "upper", "work"} {
		must(t, os.Mkdir(filepath.Join(inside, name), 0o755))
	}
	merged := dataDir(t)
	options := "lowerdir=" + inside + "/lower,upperdir=" + inside + "/upper,workdir=" + inside + "/work"
	got := b.do(t, order{Do: "mount", Args: []string{"overlay", merged, "overlay", options}})
	testneed.Feature(t, got.ok(), "overlay mounts", "load the kernel module overlay")
	wantFailure(t, b.do(t, order{Do: "acquire", Dir: merged, With: with{Strict: true}}), refused(merged))
	got = b.acquire(t, merged)
	wantFree(t, got)
	if len(got.Warnings) != 1 {
		t.Errorf("overlay: %q", got.Warnings)
	}
}
