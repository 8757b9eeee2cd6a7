package solehold_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// nobody is a user without rights.
const nobody = 65534

// Whatever text leads to it, and whoever asks: one directory has one owner, and
// the refusal shows the same one (case C29).
func TestG1Exclusion(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	hold(t, dir)
	top := filepath.Dir(dir)
	must(t, os.Symlink("data", filepath.Join(top, "alias")))
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	a := start(t)
	a.must(t, order{Do: "chdir", Dir: dir})
	for _, spelling := range []string{
		dir, dir + "/", dir + "//.", top + "/alias", top + "/alias/", top + "/data/../data", dir + "/sub/..",
		".", "./", "../data", "sub/..", "/proc/self/cwd", "/proc/" + strconv.Itoa(a.pid) + "/cwd", "/proc/self/root" + dir,
	} {
		got := a.acquire(t, spelling)
		wantHeld(t, got)
		if got.Path != dir || got.Owner.PID != os.Getpid() || !got.Owner.Proven {
			t.Errorf("%s: path %s, owner %+v", spelling, got.Path, got.Owner)
		}
	}
}

func TestG1ExclusionOverMounts(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	dir := dataDir(t)
	hold(t, dir)
	bound := filepath.Join(place(t), "bound")
	must(t, os.Mkdir(bound, 0o755))
	a := start(t, inOwnMounts)
	a.must(t, order{Do: "mount", Args: []string{dir, bound, "", ""}, N: unix.MS_BIND})
	wantHeld(t, a.acquire(t, bound))
	a.must(t, order{Do: "mount", Args: []string{"", bound, "", ""}, N: unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY})
	wantHeld(t, a.acquire(t, bound))
}

func TestG1ExclusionOverUsers(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	dir := ownedDir(t, nobody)
	user, root := start(t, asUser(nobody)), start(t)
	wantFree(t, user.acquire(t, dir))
	got := root.acquire(t, dir)
	wantHeld(t, got)
	if got.Owner.PID != user.pid || *got.Owner.UID != nobody {
		t.Errorf("owner %+v", got.Owner)
	}
	user.must(t, order{Do: "release"})
	wantFree(t, root.acquire(t, dir))
	wantHeld(t, user.acquire(t, dir))
}

// A starter in another container sees no process, and is refused all the same
// (case C19).
func TestG1ExclusionOverPIDNamespaces(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	dir := dataDir(t)
	hold(t, dir)
	got := start(t, inPIDNamespace).acquire(t, dir)
	wantHeld(t, got)
}

// Two directories are two directories, also under one relative name.
func TestG1SameNameElsewhere(t *testing.T) {
	t.Parallel()
	a, b := start(t), start(t)
	a.must(t, order{Do: "chdir", Dir: filepath.Dir(dataDir(t))})
	b.must(t, order{Do: "chdir", Dir: filepath.Dir(dataDir(t))})
	wantFree(t, a.acquire(t, "data"))
	wantFree(t, b.acquire(t, "data"))
}

// A tilde that no shell replaced is nobody's directory.
func TestG1LiteralTilde(t *testing.T) {
	t.Parallel()
	got := start(t).do(t, order{Do: "acquire", Dir: "~/data", With: with{Create: true}})
	wantFailure(t, got, wanted{reason: "refused", path: "~/data", code: 78})
}

// The kernel frees the lock with the process, at once and without clean-up.
func TestG2CrashRelease(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	for range 5 {
		a := start(t)
		wantFree(t, a.acquire(t, dir))
		a.kill()
		wantState(t, dir, "FREE")
		once(t, dir)
	}
}

// With shared descriptors it is the last process that counts.
func TestG2LastSharerReleases(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	parent, other := start(t), start(t)
	wantFree(t, parent.acquire(t, dir))
	child := parent.must(t, order{Do: "share", N: 1}).N
	killAtEnd(t, child)
	parent.kill()
	got := other.acquire(t, dir)
	wantHeld(t, got)
	if got.Owner.PID != child || !got.Owner.Proven {
		t.Errorf("owner %+v, want pid %d", got.Owner, child)
	}
	must(t, unix.Kill(child, unix.SIGKILL))
	awaitEnd(t, child)
	wantFree(t, other.acquire(t, dir))
}
