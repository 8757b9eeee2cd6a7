package doctor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/diagnose/doctor"
)

// layout is a data directory whose engine is not run here. Of MongoDB and Kafka
// Debian has no package: their locks are taken as they take them. The others are
// run for real in internal/realtest.
type layout struct {
	name, kind, lock, data string
	files                  []string
}

func layouts() []layout {
	return []layout{
		{"MySQL", "posix", "ibdata1", "ib_logfile0", []string{"ibdata1", "ib_logfile0", "mysql.ibd"}},
		// flock(2), in StorageEngineLockFile::open of storage_engine_lock_file_posix.cpp.
		{"MongoDB", "flock", "mongod.lock", "collection-0.wt", []string{"WiredTiger", "WiredTiger.wt", "mongod.lock", "collection-0.wt"}},
		// FileChannel.tryLock in kafka.utils.FileLock, which is a POSIX lock on Linux.
		{"Kafka", "posix", ".lock", "topic-0/00000000000000000000.log", []string{"meta.properties", ".lock", "topic-0/00000000000000000000.log"}},
		{"Lucene", "posix", "write.lock", "_0.fdt", []string{"segments_1", "write.lock", "_0.fdt"}},
		{"Lucene", "posix", "write.lock", "_0.fdt", []string{"write.lock", "_0.fdt"}}, // before the first commit
		{"RocksDB", "posix", "LOCK", "000004.log", []string{"CURRENT", "LOCK", "OPTIONS-000005", "MANIFEST-000001", "000004.log"}},
	}
}

// lay makes the files.
func lay(t testing.TB, files []string) string {
	t.Helper()
	dir := place(t)
	for _, name := range files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	return dir
}

func TestLayouts(t *testing.T) {
	t.Parallel()
	for _, l := range layouts() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			dir := lay(t, l.files)
			lock, data := filepath.Join(dir, l.lock), filepath.Join(dir, l.data)
			owner := acting(t, l.kind+" "+lock, "write "+data)
			r := examine(t, dir)
			wantIDs(t, r)
			if s := r.Paths[0]; s.Kind != l.name+" data directory" || !names(s.Holders, owner.pid()) || s.Lock != strings.ToUpper(l.kind) {
				t.Errorf("%+v", s)
			}
			second := leaving(t, `sleep 600 5>>"$1" >/dev/null & echo $!`, data)
			r = until(t, "SH030", dir)
			if f := only(t, r, "SH030"); !names(f.Holders, owner.pid()) || !names(f.Holders, second) {
				t.Errorf("%+v", f)
			}
			owner.end()
			r = until(t, "SH031", dir)
			if f := only(t, r, "SH031"); f.Severity != doctor.Danger || !names(f.Holders, second) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A child that outlives a mongod keeps its lock, for flock belongs to the open
// file; one that outlives a broker of Kafka keeps the files and no lock.
func TestLayoutLeftToAChild(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"MongoDB": "SH013", "Kafka": "SH031"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := layouts()[slices.IndexFunc(layouts(), func(l layout) bool { return l.name == name })]
			dir := lay(t, l.files)
			a := starting(t, nil, l.kind+" "+filepath.Join(dir, l.lock), "write "+filepath.Join(dir, l.data), "leave", "stay")
			text, err := a.out.ReadString('\n')
			must(t, err)
			child, err := strconv.Atoi(strings.TrimSpace(text))
			must(t, err)
			t.Cleanup(func() { syscall.Kill(child, syscall.SIGKILL) })
			must(t, a.cmd.Process.Kill())
			a.cmd.Wait()
			r := until(t, want, dir)
			if f := only(t, r, want); !names(f.Holders, child) {
				t.Errorf("child %d: %+v", child, f)
			}
		})
	}
}

// Where the lock file is not there at all, locking is switched off.
func TestLockingSwitchedOff(t *testing.T) {
	t.Parallel()
	dir := lay(t, []string{"wal/00000000", "chunks_head/000001"})
	acting(t, "write "+filepath.Join(dir, "wal/00000000"))
	if f := only(t, examine(t, dir), "SH031"); f.Severity != doctor.Notice || !has(f.Evidence, "switched off") {
		t.Errorf("%+v", f)
	}
}

// What solehold guards needs no other lock.
func TestGuardedEngine(t *testing.T) {
	t.Parallel()
	dir := lay(t, []string{"wal/00000000", "chunks_head/000001"})
	acting(t, "acquire "+dir, "write "+filepath.Join(dir, "wal/00000000"))
	r := examine(t, dir)
	wantIDs(t, r)
	if s := r.Paths[0]; s.Kind != "Prometheus data directory" || s.State != "HELD" {
		t.Errorf("%+v", s)
	}
}

// PostgreSQL goes by its pid file: it must name who writes.
func TestPostmasterPidfile(t *testing.T) {
	t.Parallel()
	dir := lay(t, []string{"PG_VERSION", "global/1262", "base/5/1249"})
	pidfile := filepath.Join(dir, "postmaster.pid")
	server := acting(t, "write "+filepath.Join(dir, "base/5/1249"))
	if f := only(t, examine(t, dir), "SH032"); !names(f.Holders, server.pid()) || !has(f.Evidence, "is missing or empty") {
		t.Errorf("%+v", f)
	}
	must(t, os.WriteFile(pidfile, []byte("1\n"+dir+"\n"), 0o600))
	if f := only(t, examine(t, dir), "SH032"); !has(f.Evidence, "names pid 1, which is none of them") {
		t.Errorf("%+v", f)
	}
	must(t, os.WriteFile(pidfile, []byte(fmt.Sprintf("%d\n%s\n", server.pid(), dir)), 0o600))
	r := examine(t, dir)
	if found := find(r, "SH032"); len(found) > 0 {
		t.Errorf("%+v", found)
	}
	if s := r.Paths[0]; s.Kind != "PostgreSQL data directory" || !strings.Contains(s.State, "postmaster.pid") {
		t.Errorf("%+v", s)
	}
}
