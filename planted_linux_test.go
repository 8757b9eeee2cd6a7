package solehold_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

const victimText = "the victim's only copy"

// victim is a file that nothing may change, and an end of the test checks it.
func victim(t *testing.T) string {
	t.Helper()
	path := filepath.Join(place(t), "victim")
	must(t, os.WriteFile(path, []byte(victimText), 0o600))
	t.Cleanup(func() {
		if text, err := os.ReadFile(path); string(text) != victimText {
			t.Errorf("the victim is now %q, %v", text, err)
		}
	})
	return path
}

// What is planted in the place of solehold's files is refused by name, and
// neither followed nor changed nor waited for (case C43).
func TestPlantedFilesAreRefused(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(*testing.T, string) error{
		"symlink":          func(t *testing.T, path string) error { return os.Symlink(victim(t), path) },
		"dangling symlink": func(_ *testing.T, path string) error { return os.Symlink(path+"-made", path) },
		"fifo":             func(_ *testing.T, path string) error { return unix.Mkfifo(path, 0o600) },
		"socket":           func(_ *testing.T, path string) error { return unix.Mknod(path, unix.S_IFSOCK|0o600, 0) },
		"hard link":        func(t *testing.T, path string) error { return os.Link(victim(t), path) },
		"directory":        func(_ *testing.T, path string) error { return os.Mkdir(path, 0o700) },
		"symlink to dir":   func(t *testing.T, path string) error { return os.Symlink(filepath.Dir(victim(t)), path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, place := range []func(string) string{lockFile, stateDir} {
				dir := dataDir(t)
				path := place(dir)
				if path == stateDir(dir) && name == "directory" {
					continue // that is what belongs there
				}
				if path == lockFile(dir) {
					must(t, os.Mkdir(stateDir(dir), 0o700))
				}
				must(t, plant(t, path))
				wantRefused(t, dir, path)
				if _, err := os.Lstat(path + "-made"); err == nil {
					t.Error("the symlink was followed")
				}
			}
		})
	}
}

// wantRefused wants the refusal of start and query to name the path.
func wantRefused(t *testing.T, dir, path string) {
	t.Helper()
	a := start(t)
	wantFailure(t, a.acquire(t, dir), refused(path))
	got := a.must(t, order{Do: "inspect", Dir: dir})
	if got.Status.State != solehold.NotKnown || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], path) {
		t.Errorf("status %+v, %q", got.Status, got.Warnings)
	}
}

func TestPlantedDevice(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	dir := dataDir(t)
	must(t, os.Mkdir(stateDir(dir), 0o700))
	must(t, unix.Mknod(lockFile(dir), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))))
	wantRefused(t, dir, lockFile(dir))
}

// The other files of the state directory are not followed either.
func TestPlantedHistory(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"history.jsonl", "refusals", "release", "history.jsonl.1"} {
		dir := dataDir(t)
		once(t, dir)
		path := filepath.Join(stateDir(dir), name)
		must(t, removeIfThere(path))
		must(t, os.Symlink(victim(t), path))
		holder := start(t)
		wantFree(t, holder.acquire(t, dir))
		wantHeld(t, start(t).acquire(t, dir))
		holder.kill()
		must(t, os.Remove(lockFile(dir))) // the next one asks the history for the last token
		wantFree(t, start(t).acquire(t, dir))
	}
}

func removeIfThere(path string) error {
	err := os.Remove(path)
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// Where everybody may plant files nothing can be trusted.
func TestWorldWritableIsRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o777, 0o777 | os.ModeSticky, 0o702} {
		dir := dataDir(t)
		must(t, os.Chmod(dir, mode))
		wantFailure(t, start(t).acquire(t, dir), refused(dir))
	}
	dir := dataDir(t)
	once(t, dir)
	must(t, os.Chmod(stateDir(dir), 0o777))
	wantFailure(t, start(t).acquire(t, dir), refused(stateDir(dir)))
	must(t, os.Chmod(stateDir(dir), 0o700))
	must(t, os.Chmod(lockFile(dir), 0o666))
	wantFailure(t, start(t).acquire(t, dir), refused(lockFile(dir)))
}

// What a stranger made is not ours, although root could use it.
func TestStrangersStateIsRefused(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	dir := dataDir(t)
	once(t, dir)
	must(t, os.Chown(lockFile(dir), 4711, 4711))
	wantRefused(t, dir, lockFile(dir))
	must(t, os.Chown(stateDir(dir), 4711, 4711))
	wantRefused(t, dir, stateDir(dir))
}

// A stranger who can read the directory can mark it. That is a holder, and it is
// said whose user it is.
func TestStrangersMarkIsNamed(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	dir := dataDir(t)
	twin := startTwin(t, "mark", dir, asUser(nobody))
	got := start(t).acquire(t, dir)
	wantHeld(t, got)
	if got.Owner.PID != twin || *got.Owner.UID != nobody || !strings.Contains(strings.Join(got.Owner.Notes, ";"), "not the data directory's owner") {
		t.Errorf("owner %+v", got.Owner)
	}
	wantState(t, dir, "DETACHED")
}

// A record may name anybody. Nobody is signalled because of it.
func TestRecordNeverMakesASignal(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	bystander := start(t)
	once(t, dir)
	r := *recordOf(t, dir)
	r.Holder.PID, r.State, r.Seq = bystander.pid, "ready", r.Seq+2
	forge(t, dir, r)
	wantFree(t, start(t).acquire(t, dir))
	bystander.must(t, order{Do: "hello"})
}

// One start by root does not lock the service's own user out (case C39).
func TestRootDoesNotLockTheUserOut(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	dir := ownedDir(t, nobody)
	root := start(t)
	root.must(t, order{Do: "umask", N: 0o077})
	wantFree(t, root.acquire(t, dir))
	user := start(t, asUser(nobody))
	wantHeld(t, user.acquire(t, dir)) // and writes the refusal down
	root.must(t, order{Do: "release"})
	got := user.acquire(t, dir)
	wantFree(t, got)
	if len(got.Warnings) != 0 {
		t.Errorf("warnings %q", got.Warnings)
	}
	for _, name := range []string{"", "lock", "history.jsonl", "refusals"} {
		var st syscall.Stat_t
		must(t, syscall.Stat(filepath.Join(stateDir(dir), name), &st))
		if st.Uid != nobody || st.Gid != nobody || st.Mode&0o007 != 0 {
			t.Errorf("%q belongs to %d:%d, mode %o", name, st.Uid, st.Gid, st.Mode)
		}
	}
}

// Where root made the lock in another way, that is what is said.
func TestRootsLockIsNotPermitted(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	dir := ownedDir(t, nobody)
	once(t, dir)
	must(t, os.Chown(lockFile(dir), 0, 0))
	must(t, os.Chmod(lockFile(dir), 0o600))
	user := start(t, asUser(nobody))
	wantFailure(t, user.acquire(t, dir), notPermitted(syscall.EACCES, lockFile(dir)))
	hold(t, dir)
	wantHeld(t, user.acquire(t, dir))
}
