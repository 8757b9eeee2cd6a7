package doctor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// apart starts an actor as pid 1 of pid and mount namespaces of its own.
func apart(t testing.TB, steps ...string) *actor {
	t.Helper()
	testneed.Root(t)
	testneed.Program(t, "unshare", "apt-get install util-linux")
	return startedBelow(t, []string{"unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"}, steps...)
}

// inside is the process below an actor that unshare started.
func inside(t testing.TB, a *actor) int {
	t.Helper()
	out, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", a.pid(), a.pid()))
	must(t, err)
	var pid int
	_, err = fmt.Sscan(string(out), &pid)
	must(t, err)
	return pid
}

// C19: two services on one directory, each alone in its container. Only one of
// them asks for the lock.
func TestC19SecondWriterInAnotherContainer(t *testing.T) {
	t.Parallel()
	dir := place(t)
	file := filepath.Join(dir, "data")
	owner := apart(t, "acquire "+dir, "write "+file)
	wantIDs(t, examine(t, dir))
	bare := apart(t, "write "+file)
	r := examine(t, dir)
	f := only(t, r, "SH030")
	first, second := inside(t, owner), inside(t, bare)
	if f.Severity != doctor.Danger || f.Path != dir || !names(f.Holders, first) || !names(f.Holders, second) {
		t.Errorf("%d, %d: %+v", first, second, f)
	}
	if !has(f.Evidence, fmt.Sprintf("pid %d", second), file, "without the lock", "pid 1 in its own namespace") {
		t.Errorf("%q", f.Evidence)
	}
	owner.end()
	testneed.Until(t, "the owner is gone", func() bool { return len(find(examine(t, dir), "SH033")) == 1 })
}

// Whatever the owner started belongs to it, and so does who only reads.
func TestOwnersFamilyIsNoSecondWriter(t *testing.T) {
	t.Parallel()
	dir := place(t)
	file := filepath.Join(dir, "data")
	acting(t, "acquire "+dir, "write "+file)
	must(t, os.WriteFile(file, nil, 0o644))
	acting(t, "read "+file)
	r := examine(t, dir)
	wantIDs(t, r)
}

// Two services in containers with a directory of one name are two directories,
// also on one disk.
func TestSameNameInOtherContainers(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	base := place(t)
	var pids []int
	for _, name := range []string{"one", "two"} {
		real := filepath.Join(base, name)
		must(t, os.Mkdir(real, 0o755))
		for _, mark := range []string{"CURRENT", "LOCK", "MANIFEST-000001"} {
			must(t, os.WriteFile(filepath.Join(real, mark), nil, 0o644))
		}
		shared := filepath.Join(base, "data")
		must(t, os.MkdirAll(shared, 0o755))
		a := startedBelow(t, []string{
			"unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child",
			"sh", "-c", `mount --bind "$1" "$2"; shift 2; exec "$@"`, "sh", real, shared,
		}, "posix "+filepath.Join(shared, "LOCK"), "write "+filepath.Join(shared, "000001.log"))
		pids = append(pids, inside(t, a))
	}
	r := doctor.Examine(t.Context(), doctor.Options{})
	for _, f := range r.Findings {
		if names(f.Holders, pids[0]) || names(f.Holders, pids[1]) {
			t.Errorf("%+v", f)
		}
	}
}

// The same directory under two names in two containers is one directory.
func TestOneDirectoryUnderTwoNames(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	base := place(t)
	real := filepath.Join(base, "volume")
	must(t, os.Mkdir(real, 0o755))
	for _, mark := range []string{"CURRENT", "LOCK", "MANIFEST-000001"} {
		must(t, os.WriteFile(filepath.Join(real, mark), nil, 0o644))
	}
	var pids []int
	for _, name := range []string{"one", "two"} {
		here := filepath.Join(base, name)
		must(t, os.Mkdir(here, 0o755))
		a := startedBelow(t, []string{
			"unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child",
			"sh", "-c", `mount --bind "$1" "$2"; shift 2; exec "$@"`, "sh", real, here,
		}, "write "+filepath.Join(here, name+".log"))
		pids = append(pids, inside(t, a))
	}
	var f *doctor.Finding
	r := doctor.Examine(t.Context(), doctor.Options{})
	for _, found := range find(r, "SH030") {
		if names(found.Holders, pids[0]) && names(found.Holders, pids[1]) {
			f = &found
		}
	}
	if f == nil {
		t.Errorf("pids %d: %+v", pids, r.Findings)
	}
}

// C31: a guarded directory inside another one is told.
func TestC31NestedDirectories(t *testing.T) {
	t.Parallel()
	dir := place(t)
	below := filepath.Join(dir, "below")
	must(t, os.Mkdir(below, 0o755))
	outer := acting(t, "acquire "+dir)
	inner := acting(t, "acquire "+below, "write "+filepath.Join(below, "file"))
	r := examine(t, dir)
	f := only(t, r, "SH035")
	if f.Path != below || !names(f.Holders, inner.pid()) || !names(f.Holders, outer.pid()) || len(find(r, "SH030")) > 0 {
		t.Errorf("%+v", r.Findings)
	}
}

// C17: the record of a container that is gone names another host; the lock of the
// kernel decides, and nothing is wrong.
func TestC17ContainerIsGone(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	dir := place(t)
	a := startedBelow(t, []string{"unshare", "--uts", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", `hostname c1; exec "$@"`, "sh"}, "acquire "+dir)
	must(t, a.cmd.Process.Kill())
	a.cmd.Wait()
	var r doctor.Report
	testneed.Until(t, "free", func() bool { r = examine(t, dir); return r.Paths[0].State == "FREE" })
	wantIDs(t, r)
	if !has(r.Paths[0].Notes, "record: stale", "c1") {
		t.Errorf("%+v", r.Paths[0])
	}
}

// C23: a file system that lies over others has locks of its own.
func TestC23Overlay(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	base := place(t)
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		must(t, os.Mkdir(filepath.Join(base, name), 0o755))
	}
	merged := filepath.Join(base, "merged")
	options := fmt.Sprintf("lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", base, base, base)
	err := unix.Mount("doctor-test", merged, "overlay", 0, options)
	testneed.Feature(t, err == nil, "overlayfs", "run the tests on a kernel with overlayfs, with TMPDIR on a disk")
	t.Cleanup(func() { unix.Unmount(merged, unix.MNT_DETACH) })
	a := acting(t, "acquire "+merged, "flock "+filepath.Join(merged, "lf"))
	r := examine(t, merged)
	if f := only(t, r, "SH060"); !has(f.Evidence, "overlay", "another layer") {
		t.Errorf("%+v", f)
	}
	if s := r.Paths[0]; s.State != "HELD" || !names(s.Holders, a.pid()) {
		t.Errorf("%+v", s)
	}
	s := examine(t, filepath.Join(merged, "lf")).Paths[0]
	if s.State != "held" || !names(s.Holders, a.pid()) {
		t.Errorf("%+v", s)
	}
}

// Local file systems warn of nothing.
func TestC23LocalDisk(t *testing.T) {
	t.Parallel()
	dir := disk(t)
	acting(t, "acquire "+dir)
	wantIDs(t, examine(t, dir))
}

// A lock in a place where everybody may write.
func TestOpenPlace(t *testing.T) {
	t.Parallel()
	dir := place(t)
	must(t, os.Chmod(dir, 0o777|os.ModeSticky))
	lf := filepath.Join(dir, "lf")
	acting(t, "flock "+lf)
	if f := only(t, examine(t, dir), "SH080"); f.Path != lf || !has(f.Evidence, "make the file first") {
		t.Errorf("%+v", f)
	}
	must(t, os.Chmod(dir, 0o755))
	wantIDs(t, examine(t, dir))
}
