package doctor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// disk mounts a file system of its own, in memory.
func disk(t *testing.T) string {
	t.Helper()
	testneed.Root(t)
	dir := place(t)
	must(t, unix.Mount("doctor-test", dir, "tmpfs", 0, "size=40m,mode=0755"))
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// used is what df counts: the blocks that are taken.
func used(t *testing.T, dir string) int64 {
	t.Helper()
	var st unix.Statfs_t
	must(t, unix.Statfs(dir, &st))
	return int64(st.Blocks-st.Bfree) * int64(st.Bsize)
}

// listed is what du counts: the room of the files that have a name.
func listed(t *testing.T, dir string) (sum int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		var st unix.Stat_t
		must(t, unix.Lstat(filepath.Join(dir, e.Name()), &st))
		sum += st.Blocks * 512
	}
	return sum
}

// C49: removed files that are open or mapped keep the disk full.
func TestC49RemovedFilesKeepRoom(t *testing.T) {
	t.Parallel()
	dir := disk(t)
	log, both, mapped, linked := filepath.Join(dir, "app.log"), filepath.Join(dir, "twice"), filepath.Join(dir, "mapped"), filepath.Join(dir, "linked")
	must(t, os.WriteFile(mapped, make([]byte, 2<<20), 0o600))
	must(t, os.WriteFile(linked, make([]byte, 2<<20), 0o600))
	must(t, os.Link(linked, filepath.Join(dir, "name")))
	opener := acting(t, "fill "+log, "fill "+both, "read "+both, "read "+linked, "memfd")
	mapper := acting(t, "map "+mapped)
	sparse := acting(t, "write "+filepath.Join(dir, "sparse"))
	must(t, os.Truncate(filepath.Join(dir, "sparse"), 1<<30))
	for _, name := range []string{log, both, mapped, linked, filepath.Join(dir, "sparse")} {
		must(t, os.Remove(name))
	}
	r := examine(t, dir)
	wantIDs(t, r, "SH050", "SH050", "SH050")
	for _, f := range find(r, "SH050") {
		pid := map[string]int{log: opener.pid(), both: opener.pid(), mapped: mapper.pid()}[f.Path]
		if len(f.Holders) != 1 || f.Holders[0].PID != pid || !has(f.Evidence, fmt.Sprint("pid ", pid)) {
			t.Errorf("%+v", f)
		}
		if !has([]string{f.Title}, "memory (tmpfs), not disk") {
			t.Errorf("%q", f.Title)
		}
	}
	i := slices.IndexFunc(r.Space, func(s doctor.Space) bool { return s.Mount == dir })
	if i < 0 {
		t.Fatalf("%+v", r.Space)
	}
	block := int64(4096)
	if got, want := r.Space[i].Bytes, used(t, dir)-listed(t, dir); got < want-block || got > want+block {
		t.Errorf("%d bytes, df minus du is %d", got, want)
	}
	if s := r.Space[i]; s.Files != 3 || !s.Memory {
		t.Errorf("%+v", s)
	}
	runtime.KeepAlive(sparse)
}

// What lives in memory by design takes no disk.
func TestMemfdIsNoDisk(t *testing.T) {
	t.Parallel()
	a := acting(t, "memfd")
	r := doctor.Examine(t.Context(), doctor.Options{PID: a.pid()})
	wantIDs(t, r)
}

// A removed lock file is told as that, not as room.
func TestRemovedLockIsNotRoom(t *testing.T) {
	t.Parallel()
	dir := place(t)
	lf := filepath.Join(dir, "lock")
	acting(t, "flock "+lf, "remove "+lf)
	wantIDs(t, examine(t, dir), "SH021")
}
