package doctor_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
)

// C26: the file of a held lock is removed or replaced.
func TestC26LockFileRemoved(t *testing.T) {
	t.Parallel()
	dir := place(t)
	lf := filepath.Join(dir, "job.lock")
	holder := acting(t, "flock "+lf)
	wantIDs(t, examine(t, dir))
	must(t, os.Remove(lf))
	f := only(t, examine(t, dir), "SH021")
	if f.Severity != doctor.Danger || f.Path != lf || !names(f.Holders, holder.pid()) || !has(f.Evidence, "nothing is at the path now") {
		t.Errorf("%+v", f)
	}
	must(t, os.WriteFile(lf, nil, 0o644))
	if f := only(t, examine(t, dir), "SH021"); f.Title != "held lock file was replaced" {
		t.Errorf("%+v", f)
	}
	second := acting(t, "flock "+lf)
	f = only(t, examine(t, dir), "SH021")
	if f.Title != "lock file was replaced, and both are held" || !names(f.Holders, holder.pid()) || !names(f.Holders, second.pid()) {
		t.Errorf("%+v", f)
	}
}

// A lock file that was renamed has its new name, and nothing is wrong with it but
// for those who look for the old one.
func TestC26LockFileRenamedOver(t *testing.T) {
	t.Parallel()
	dir := place(t)
	lf, other := filepath.Join(dir, "job.lock"), filepath.Join(dir, "other")
	acting(t, "ofd "+lf)
	must(t, os.WriteFile(other, nil, 0o644))
	must(t, os.Rename(other, lf))
	if f := only(t, examine(t, dir), "SH021"); f.Title != "held lock file was replaced" {
		t.Errorf("%+v", f)
	}
}

// A guarded directory keeps its mark: the owner is named, and told that nothing
// is lost. It is stopped here, or it would mend its lock file at once.
func TestC26GuardedDirectory(t *testing.T) {
	t.Parallel()
	dir := place(t)
	owner := acting(t, "acquire "+dir)
	must(t, owner.cmd.Process.Signal(syscall.SIGSTOP))
	testneed.Until(t, "stopped", func() bool { st, err := procfs.Default().Stat(owner.pid()); return err == nil && st.State == 'T' })
	must(t, os.Remove(filepath.Join(dir, ".solehold", "lock")))
	r := examine(t, dir)
	told := false
	for _, f := range find(r, "SH021") {
		told = told || f.Path == dir && names(f.Holders, owner.pid()) && has(f.Evidence, "still refuses a new start")
	}
	if !told || r.Paths[0].State != "DETACHED" {
		t.Errorf("%+v", r)
	}
}

// A removed file without a lock is no lock trouble.
func TestRemovedWithoutLock(t *testing.T) {
	t.Parallel()
	dir := place(t)
	acting(t, "write "+filepath.Join(dir, "small"), "remove "+filepath.Join(dir, "small"))
	wantIDs(t, examine(t, dir))
}
