package solehold_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// wanted is what a failure has to tell.
type wanted struct {
	reason solehold.Reason
	errno  syscall.Errno // 0 where there is none
	path   string        // what the message names
	code   int
}

// wantFailure checks a failure. None of them may sound like a holder (case C41).
func wantFailure(t testing.TB, got answer, want wanted) {
	t.Helper()
	if got.Held || got.Reason != want.reason || got.Errno != want.errno || got.Code != want.code {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !strings.Contains(got.Text, want.path) || want.errno != 0 && !strings.Contains(got.Text, want.errno.Error()) {
		t.Errorf("%q does not name %s and %q", got.Text, want.path, want.errno.Error())
	}
	if strings.Contains(got.Text, "already") || strings.Contains(got.Text, "running") {
		t.Errorf("%q sounds like a holder", got.Text)
	}
}

func cannotCreate(errno syscall.Errno, path string) wanted {
	return wanted{reason: solehold.CannotCreate, errno: errno, path: path, code: 73}
}

func notPermitted(errno syscall.Errno, path string) wanted {
	return wanted{reason: solehold.NotPermitted, errno: errno, path: path, code: 77}
}

func lockFailed(errno syscall.Errno, path string) wanted {
	return wanted{reason: solehold.LockFailed, errno: errno, path: path, code: 74}
}

func refused(path string) wanted {
	return wanted{reason: solehold.Refused, path: path, code: 78}
}

// Paths that lead to no directory.
func TestG8NamedFailures(t *testing.T) {
	t.Parallel()
	top := place(t)
	in := func(name string) string { return filepath.Join(top, name) }
	must(t, os.WriteFile(in("file"), nil, 0o600))
	must(t, os.Symlink("loop", in("loop")))
	must(t, os.Symlink("nowhere", in("dangling")))
	long := in(strings.Repeat("x", 300))
	for path, errno := range map[string]syscall.Errno{
		in("missing"):        syscall.ENOENT,
		in("missing/parent"): syscall.ENOENT,
		in("dangling"):       syscall.ENOENT,
		in("file"):           syscall.ENOTDIR,
		in("file/below"):     syscall.ENOTDIR,
		in("loop"):           syscall.ELOOP,
		long:                 syscall.ENAMETOOLONG,
	} {
		for _, create := range []bool{false, path != in("missing")} {
			_, err := solehold.Acquire(context.Background(), path, &solehold.Options{Create: create})
			if create && path == in("dangling") {
				continue // mkdir says EEXIST for it; what counts is that nothing is made
			}
			wantFailure(t, failure(err), cannotCreate(errno, path))
			if !errors.Is(err, errno) {
				t.Errorf("errors.Is finds no %v in %v", errno, err)
			}
		}
		_, err := solehold.Inspect(context.Background(), path, nil)
		wantFailure(t, failure(err), cannotCreate(errno, path))
	}
	if _, err := os.Stat(in("nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("something was made behind a dangling symlink")
	}
}

func TestG8NULInPath(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "a\x00b"} {
		if _, err := solehold.Acquire(context.Background(), path, nil); err == nil || errors.Is(err, solehold.ErrHeld) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestG8NotPermitted(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	user := start(t, asUser(nobody))
	closed := dataDir(t)
	must(t, os.Chmod(closed, 0o700))
	wantFailure(t, user.acquire(t, closed), notPermitted(syscall.EACCES, closed))
	readable := dataDir(t)
	got := user.acquire(t, readable)
	wantFailure(t, got, notPermitted(syscall.EACCES, stateDir(readable)))
	got = user.do(t, order{Do: "acquire", Dir: filepath.Join(readable, "new"), With: with{Create: true}})
	wantFailure(t, got, notPermitted(syscall.EACCES, filepath.Join(readable, "new")))
	hold(t, readable)
	wantHeld(t, user.acquire(t, readable)) // that much is seen without rights
}

// On a read-only file system nothing can be taken, but a holder is seen.
func TestG8ReadOnly(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	for _, used := range []bool{false, true} {
		dir := dataDir(t)
		if used {
			once(t, dir)
		}
		bound := filepath.Join(place(t), "bound")
		must(t, os.Mkdir(bound, 0o755))
		a := start(t, inOwnMounts)
		a.must(t, order{Do: "mount", Args: []string{dir, bound, "", ""}, N: unix.MS_BIND})
		a.must(t, order{Do: "mount", Args: []string{"", bound, "", ""}, N: unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY})
		wantFailure(t, a.acquire(t, bound), cannotCreate(syscall.EROFS, bound))
		if s := a.inspect(t, bound); s.State != solehold.Free {
			t.Errorf("status %+v", s)
		}
		hold(t, dir)
		wantHeld(t, a.acquire(t, bound))
		if s := a.inspect(t, bound); s.State != solehold.Held || s.Owner.PID != os.Getpid() {
			t.Errorf("status %+v", s)
		}
	}
}

// A full disk stops the start, leaves nothing held, and no harm once there is
// room (case C13).
func TestG8NoSpace(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	dir := dataDir(t)
	a := start(t, inOwnMounts)
	a.must(t, order{Do: "mount", Args: []string{"tmpfs", dir, "tmpfs", "size=64k,mode=755"}})
	inside := filepath.Join("/proc", strconv.Itoa(a.pid), "root", dir)
	fill := filepath.Join(inside, "fill")
	full := os.WriteFile(fill, make([]byte, 1<<20), 0o600)
	if !errors.Is(full, syscall.ENOSPC) {
		t.Fatalf("it is not full: %v", full)
	}
	wantFailure(t, a.acquire(t, dir), cannotCreate(syscall.ENOSPC, dir))
	if s := a.inspect(t, dir); s.State != solehold.Free {
		t.Errorf("status %+v", s)
	}
	must(t, os.Truncate(fill, 60<<10)) // room for half a record
	wantFailure(t, a.acquire(t, dir), cannotCreate(syscall.ENOSPC, dir))
	must(t, os.Remove(fill))
	wantFree(t, a.acquire(t, dir))
	if s := a.inspect(t, dir); s.State != solehold.Held || s.Record.Class != "live" {
		t.Errorf("status %+v", s)
	}
}

func TestG8NoDescriptors(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	once(t, dir)
	for room := range 3 {
		a := start(t)
		a.must(t, order{Do: "files", N: room})
		wantFailure(t, a.acquire(t, dir), cannotCreate(syscall.EMFILE, dir))
		a.must(t, order{Do: "files", N: 100})
		wantFree(t, a.acquire(t, dir))
		a.kill()
	}
}

func TestG8Immutable(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	chattr := testneed.Program(t, "chattr", "apt-get install e2fsprogs")
	dir := dataDir(t)
	err := command(chattr, "+i", dir)
	testneed.Feature(t, err == nil, "a file system with the immutable flag", "run the tests with TMPDIR on ext4, xfs or btrfs")
	t.Cleanup(func() { command(chattr, "-i", dir) })
	got := start(t).acquire(t, dir)
	wantFailure(t, got, notPermitted(syscall.EPERM, stateDir(dir)))
}

// A lock call that fails is no holder (case C21), and does not hide one.
func TestG8LockCallFails(t *testing.T) {
	testneed.Feature(t, unix.SYS_FCNTL == 72 || strconv.IntSize == 64, "a 64-bit system", "run the tests on amd64 or arm64")
	t.Parallel()
	for _, errno := range []syscall.Errno{syscall.ENOLCK, syscall.EOPNOTSUPP, syscall.EIO, syscall.EINVAL} {
		dir := dataDir(t)
		once(t, dir)
		a := start(t)
		a.must(t, order{Do: "failcalls", Args: []string{strconv.Itoa(unix.F_OFD_SETLK)}, N: int(errno)})
		wantFailure(t, a.acquire(t, dir), lockFailed(errno, lockFile(dir)))
		wantState(t, dir, "FREE")
		hold(t, dir)
		wantHeld(t, a.acquire(t, dir))
	}
}

// Where the kernel does not answer the question, the state is not known.
func TestG8QuestionFails(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	hold(t, dir)
	a := start(t)
	a.must(t, order{Do: "failcalls", Args: []string{strconv.Itoa(unix.F_OFD_GETLK)}, N: int(syscall.ENOLCK)})
	got := a.must(t, order{Do: "inspect", Dir: dir})
	if got.Status.State != solehold.NotKnown || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], syscall.ENOLCK.Error()) {
		t.Errorf("status %+v, %q", got.Status, got.Warnings)
	}
	wantHeld(t, a.acquire(t, dir)) // the lock itself still says would-block
}

// errors.Is speaks the standard library's language.
func TestG8StandardErrors(t *testing.T) {
	t.Parallel()
	_, missing := solehold.Acquire(context.Background(), filepath.Join(place(t), "missing"), nil)
	if !errors.Is(missing, fs.ErrNotExist) || errors.Is(missing, fs.ErrPermission) {
		t.Error(missing)
	}
	denied := &solehold.OpError{Path: "/x", Err: syscall.EACCES}
	if !errors.Is(denied, fs.ErrPermission) {
		t.Error(denied)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := solehold.Acquire(ended, dataDir(t), nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
