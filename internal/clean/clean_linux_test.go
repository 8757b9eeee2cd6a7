package clean_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/clean"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// used is a data directory that was held once.
func used(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o700))
	lock, err := solehold.Acquire(t.Context(), dir, nil)
	must(t, err)
	must(t, lock.Release())
	return dir
}

// put makes a file of the state directory that is an hour old.
func put(t testing.TB, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, ".solehold", name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(name), 0o600))
	age(t, path)
	return path
}

func age(t testing.TB, path string) {
	t.Helper()
	hour := time.Now().Add(-time.Hour).Truncate(24 * time.Hour) // the same for all files
	must(t, os.Chtimes(path, hour, hour))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// actions are what was done, by the last part of each path.
func actions(r clean.Result) map[string]clean.Action {
	all := map[string]clean.Action{}
	for _, i := range r.Items {
		all[filepath.Base(i.Path)] = i.Action
	}
	return all
}

// dead and alive are judges without a doubt.
func dead(context.Context, string) (bool, string) { return true, "dead" }

func alive(context.Context, string) (bool, string) { return false, "alive" }

// Only what is known by its name goes. A name that is nearly known stays, and so
// does everything that a directory needs.
func TestOnlyWhatIsKnown(t *testing.T) {
	t.Parallel()
	dir := used(t)
	var gone, left []string
	for _, name := range []string{
		"history.jsonl.1", "history.jsonl.12", "release", "release.00deadbeef012345", "release.4711.1x2y3z", "health", "failures.json", "watch.json",
		".clean-00deadbeef012345",
	} {
		gone = append(gone, put(t, dir, name))
	}
	for _, name := range []string{
		"history.jsonl.0", "history.jsonl.1.gz", "history.jsonl.", "xhistory.jsonl.1", "release.", "release.txt", "release.00DEADBEEF012345", "releases",
		"health.bak", "failures.json.new", "xwatch.json", ".clean-", "note", "pair.bak",
	} {
		left = append(left, put(t, dir, name))
	}
	for _, name := range []string{"lock", "history.jsonl"} {
		left = append(left, filepath.Join(dir, ".solehold", name))
	}
	must(t, os.WriteFile(filepath.Join(dir, "history.jsonl.1"), nil, 0o600)) // the service's own
	left = append(left, filepath.Join(dir, "history.jsonl.1"))
	r, err := clean.Look(t.Context(), dir, clean.Options{})
	must(t, err)
	if r.Count(clean.Remove) != len(gone) || len(r.Items) != len(gone) {
		t.Errorf("%+v", r.Items)
	}
	for _, path := range slices.Concat(gone, left) {
		if !exists(path) {
			t.Errorf("a look removed %s", path)
		}
	}
	r, err = clean.Do(t.Context(), dir, clean.Options{})
	must(t, err)
	if r.Count(clean.Removed) != len(gone) || r.Err() != nil {
		t.Errorf("%+v, %v", r.Items, r.Err())
	}
	for _, path := range gone {
		if exists(path) {
			t.Errorf("%s is still there", path)
		}
	}
	for _, path := range left {
		if !exists(path) {
			t.Errorf("%s was removed", path)
		}
	}
	if names, err := filepath.Glob(filepath.Join(dir, ".solehold", ".clean-0*")); err != nil || len(names) > 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

// A held directory is left alone, and the error says who has it.
func TestHeldIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := used(t)
	path, pid := put(t, dir, "history.jsonl.1"), filepath.Join(t.TempDir(), "kb.pid")
	must(t, os.WriteFile(pid, []byte("1\n"), 0o600))
	lock, err := solehold.Acquire(t.Context(), dir, nil)
	must(t, err)
	r, err := clean.Do(t.Context(), dir, clean.Options{Pidfiles: []string{pid}, Judge: dead})
	if !errors.Is(err, solehold.ErrHeld) || len(r.Items) != 0 || !exists(path) || !exists(pid) {
		t.Errorf("%+v, %v", r, err)
	}
	must(t, lock.Release())
	if r, err = clean.Do(t.Context(), dir, clean.Options{Pidfiles: []string{pid}, Judge: dead}); err != nil || exists(path) || exists(pid) {
		t.Errorf("%+v, %v", r, err)
	}
}

// What is in the place of a known file and is none stays, and what it leads to.
func TestNothingIsFollowed(t *testing.T) {
	t.Parallel()
	dir := used(t)
	target := filepath.Join(t.TempDir(), "target")
	must(t, os.WriteFile(target, []byte("precious"), 0o600))
	state := filepath.Join(dir, ".solehold")
	must(t, os.Symlink(target, filepath.Join(state, "failures.json")))
	must(t, os.Mkdir(filepath.Join(state, "history.jsonl.1"), 0o700))
	must(t, syscall.Mkfifo(filepath.Join(state, "release"), 0o600))
	pid := filepath.Join(t.TempDir(), "kb.pid")
	must(t, os.Symlink(target, pid))
	r, err := clean.Do(t.Context(), dir, clean.Options{Pidfiles: []string{pid}, Judge: dead})
	must(t, err)
	if r.Count(clean.Keep) != 4 || len(r.Items) != 4 {
		t.Errorf("%+v", r.Items)
	}
	for _, path := range []string{target, pid, filepath.Join(state, "failures.json"), filepath.Join(state, "history.jsonl.1"), filepath.Join(state, "release")} {
		if !exists(path) {
			t.Errorf("%s was removed", path)
		}
	}
}

// The directory of our files may be a planted link: that is refused.
func TestPlantedState(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), used(t)
	must(t, os.Chmod(dir, 0o700))
	path := put(t, other, "failures.json")
	must(t, os.Symlink(filepath.Join(other, ".solehold"), filepath.Join(dir, ".solehold")))
	if _, err := clean.Look(t.Context(), dir, clean.Options{}); err == nil {
		t.Error("looked through a link")
	}
	if _, err := clean.Do(t.Context(), dir, clean.Options{}); solehold.ExitCode(err) != 78 || !exists(path) {
		t.Errorf("%v", err)
	}
}

// What somebody may be writing right now stays for a minute.
func TestYoungLeftOver(t *testing.T) {
	t.Parallel()
	dir := used(t)
	path := put(t, dir, "release.00deadbeef012345")
	must(t, os.Chtimes(path, time.Now(), time.Now()))
	r, err := clean.Do(t.Context(), dir, clean.Options{})
	if err != nil || r.Count(clean.Keep) != 1 || !exists(path) {
		t.Errorf("%+v, %v", r.Items, err)
	}
}

// A pid file goes on the word of the judge alone, who is asked again right before.
func TestPidfileIsJudgedAgain(t *testing.T) {
	t.Parallel()
	pid := filepath.Join(t.TempDir(), "kb.pid")
	write := func(text string) {
		t.Helper()
		must(t, os.WriteFile(pid, []byte(text), 0o600))
		age(t, pid)
	}
	for name, c := range map[string]struct {
		judge clean.Judge
		stays bool
	}{
		"alive": {alive, true},
		"dead":  {dead, false},
		"comes alive": {func() clean.Judge {
			n := 0
			return func(context.Context, string) (bool, string) { n++; return n < 2, fmt.Sprint("asked ", n) }
		}(), true},
		"another file with the same content": {func() clean.Judge {
			once := false // twice might bring the first inode back
			return func(_ context.Context, path string) (bool, string) {
				if !once {
					must(t, os.WriteFile(path+".next", []byte("4711\n"), 0o600))
					age(t, path+".next")
					must(t, os.Rename(path+".next", path))
				}
				once = true
				return true, "dead"
			}
		}(), true},
		"the same file with another content": {func(_ context.Context, path string) (bool, string) {
			must(t, os.WriteFile(path, []byte("4712\n"), 0o600))
			return true, "dead"
		}, true},
	} {
		write("4711\n")
		r, err := clean.Do(t.Context(), used(t), clean.Options{Pidfiles: []string{pid}, Judge: c.judge})
		if err != nil || r.Err() != nil || len(r.Items) != 1 || exists(pid) != c.stays {
			t.Errorf("%s: %+v, %v", name, r.Items, err)
		}
	}
	os.Remove(pid)
	r, err := clean.Do(t.Context(), used(t), clean.Options{Pidfiles: []string{pid}, Judge: dead})
	if err != nil || r.Count(clean.Keep) != 1 || !strings.Contains(r.Items[0].Why, "there is none") {
		t.Errorf("%+v, %v", r.Items, err)
	}
}

// Evidence stays unless it is asked for, and what is not evidence stays with its
// folder.
func TestIncidents(t *testing.T) {
	t.Parallel()
	dir := used(t)
	const one, two, odd = "20260101T000000Z-1", "20260102T000000Z-1", "20260103T000000Z-1"
	for _, id := range []string{one, two, odd} {
		put(t, dir, "incidents/"+id+"/incident.json")
		put(t, dir, "incidents/"+id+"/summary.md.new")
	}
	stranger := put(t, dir, "incidents/"+odd+"/folder/file")
	other := put(t, dir, "incidents/other/file")
	young := put(t, dir, "incidents/"+two+"/young.new")
	must(t, os.Chtimes(young, time.Now(), time.Now()))
	folder := filepath.Join(dir, ".solehold", "incidents")

	r, err := clean.Do(t.Context(), dir, clean.Options{})
	must(t, err)
	if r.Count(clean.Removed) != 3 || r.Count(clean.Keep) != 1 || exists(filepath.Join(folder, one, "summary.md.new")) || !exists(young) || !exists(filepath.Join(folder, one, "incident.json")) {
		t.Errorf("%+v", r.Items)
	}
	r, err = clean.Do(t.Context(), dir, clean.Options{Incidents: true})
	must(t, err)
	want := map[string]clean.Action{one: clean.Removed, two: clean.Removed, odd: clean.Keep}
	if got := actions(r); len(got) != len(want) || got[one] != want[one] || got[two] != want[two] || got[odd] != want[odd] {
		t.Errorf("%v", got)
	}
	if exists(filepath.Join(folder, one)) || exists(filepath.Join(folder, two)) || !exists(stranger) || !exists(other) {
		t.Error("the wrong ones were removed")
	}
}

// A file that cannot be removed is told as an error, and the others go.
func TestNotPermitted(t *testing.T) {
	t.Parallel()
	dir := used(t)
	failures := put(t, dir, "failures.json")
	pid := filepath.Join("/proc/self", "comm") // a plain file that nobody can rename
	r, err := clean.Do(t.Context(), dir, clean.Options{Pidfiles: []string{pid}, Judge: dead})
	if err != nil || r.Err() == nil || exists(failures) || r.Count(clean.Removed) != 1 {
		t.Errorf("%+v, %v, %v", r.Items, err, r.Err())
	}
}

// The record of a predecessor that left no release stays for the next starter to
// see: a clean did no work in the directory.
func TestPredecessorStays(t *testing.T) {
	t.Parallel()
	dir := used(t)
	before, err := solehold.Inspect(t.Context(), dir, nil)
	must(t, err)
	put(t, dir, "failures.json")
	_, err = clean.Do(t.Context(), dir, clean.Options{})
	must(t, err)
	after, err := solehold.Inspect(t.Context(), dir, nil)
	must(t, err)
	if after.State != solehold.Free || after.Token <= before.Token {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// Where nothing was ever held, nothing is made by a look.
func TestNothingThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := clean.Look(t.Context(), dir, clean.Options{})
	if err != nil || len(r.Items) != 0 || exists(filepath.Join(dir, ".solehold")) {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := clean.Look(t.Context(), filepath.Join(dir, "missing"), clean.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
