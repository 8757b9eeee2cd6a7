package dataroot_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/dataroot"
)

// Ten processes open 100 names each, at once: every name has one owner.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	owners := map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 10 {
		_, out := actor(t, "race", nil, base, pins, fmt.Sprint(i*10))
		wg.Go(func() {
			for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "done"; {
				mu.Lock()
				owners[lines.Text()]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for name, n := range owners {
		if n != 1 {
			t.Errorf("%s: %d times", name, n)
		}
	}
	all, err := dataroot.List(base)
	if err != nil || len(owners) != 100 || len(all) != 100 {
		t.Errorf("%d owners, %d roots, %v", len(owners), len(all), err)
	}
	ids := map[string]bool{}
	for _, l := range all {
		ids[l.UUID] = true
	}
	if entries, _ := os.ReadDir(base); len(ids) != 100 || len(entries) != 100 {
		t.Errorf("%d ids, %d entries", len(ids), len(entries))
	}
}

// Links of all kinds, made by somebody else below a root, lead neither out of it
// nor to solehold's own files.
func TestLinks(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	outside := t.TempDir()
	folder, err := os.Open(outside)
	must(t, err)
	defer folder.Close()
	r := open(t, base, "kb", &dataroot.Options{Pins: pins})
	for name, target := range map[string]string{
		"fd": fmt.Sprintf("/proc/self/fd/%d", folder.Fd()), "pid": fmt.Sprintf("/proc/%d/cwd", os.Getpid()), "root": "/", "up": "..",
		"abs": outside, "sly": "sub/../../..", "ours": ".solehold", "self": ".", "loop": "loop", "dumps": ".solehold/incidents",
	} {
		must(t, os.Symlink(target, filepath.Join(r.Dir(), name)))
	}
	must(t, os.MkdirAll(filepath.Join(r.Dir(), ".solehold", "incidents"), 0o700))
	must(t, os.Mkdir(filepath.Join(r.Dir(), "sub"), 0o700), os.Symlink("../ours", filepath.Join(r.Dir(), "sub", "deep")))
	for _, name := range []string{
		"fd/new", "pid/new", "root/new", "up/new", "abs/new", "abs/deep/new", "sly/new", "loop/new", "ours/lock", "ours/incidents/x", "sub/deep/lock",
		"dumps/new", "self/dumps/new", "self/.root.json", "self/.solehold/lock", "self/ours/lock", ".Root.JSON", ".SOLEHOLD/lock", ".root.json.", ".root.json ", ".root.json:stream",
		".solehold. /lock", "sub/.new-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
	} {
		if err := r.WriteFile(name, []byte("mine")); err == nil {
			t.Errorf("%q was written", name)
		}
		if err := r.Remove(name); err == nil {
			t.Errorf("%q was removed", name)
		}
	}
	for _, name := range []string{"abs", "ours", "dumps", "self"} {
		if s, err := r.Space.Space(name); err == nil {
			s.Close()
			t.Errorf("a space behind the link %s", name)
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside: %v, %v", left, err)
	}
	must(t, r.WriteFile("sub/fine", []byte("1")), r.WriteFile(".rooted", nil), r.WriteFile(".new-york", nil)) // the twins
	if text, err := fs.ReadFile(r, "self/sub/fine"); err != nil || string(text) != "1" {
		t.Errorf("read through a link: %q, %v", text, err)
	}
	if r.Lock().Context().Err() != nil {
		t.Error("the lock is lost")
	}
}

// A root that is renamed away keeps its files; nothing comes into its old place.
func TestRenamedRoot(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	r := open(t, base, "kb", &dataroot.Options{Pins: pins})
	old := filepath.Join(base, "kb")
	must(t, os.Rename(old, old+"-moved"), os.Mkdir(old, 0o700))
	r.WriteFile("x", []byte("mine"))
	if left, err := os.ReadDir(old); err != nil || len(left) > 0 {
		t.Errorf("in its old place: %v, %v", left, err)
	}
}

// With the lock the right to write ends.
func TestWriteAfterClose(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	r := open(t, base, "kb", &dataroot.Options{Pins: pins})
	s, err := r.Space.Space("sub")
	must(t, err, s.WriteFile("x", nil))
	defer s.Close()
	must(t, r.Lock().Release()) // as when it is lost: the root itself is open
	for _, err := range []error{r.WriteFile("y", nil), s.WriteFile("y", nil), r.Remove("sub/x"), s.Remove("x")} {
		if err == nil {
			t.Error("written without a lock")
		}
	}
	if _, err := fs.ReadFile(r, "sub/x"); err != nil {
		t.Error(err)
	}
}

// Who asks for a root that stays gets one, whatever it was born as.
func TestPromoted(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	born := open(t, base, "kb", &dataroot.Options{Ephemeral: true, Pins: pins})
	born.Close()
	stays := open(t, base, "kb", &dataroot.Options{Pins: pins})
	if stays.Meta().Ephemeral || stays.Meta().UUID != born.Meta().UUID {
		t.Errorf("%+v", stays.Meta())
	}
	stays.Close()
	open(t, base, "kb", &dataroot.Options{Ephemeral: true, Pins: pins}).Close()
	if did, err := dataroot.GC(t.Context(), base, false, nil); err != nil || removed(did) != "[]" {
		t.Errorf("%+v, %v", did, err)
	}
	if notes, err := os.ReadDir(pins); err != nil || len(notes) != 1 {
		t.Errorf("%v, %v", notes, err)
	}
}

// A root whose note was lost gets it again.
func TestNoteAgain(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	open(t, base, "kb", &dataroot.Options{Pins: pins}).Close()
	again := filepath.Join(t.TempDir(), "pins")
	open(t, base, "kb", &dataroot.Options{Pins: again}).Close()
	if notes, err := os.ReadDir(again); err != nil || len(notes) != 1 {
		t.Errorf("%v, %v", notes, err)
	}
	nowhere := filepath.Join(base, "kb", ".root.json", "pins")
	if _, err := dataroot.Open(t.Context(), base, "new", &dataroot.Options{Pins: nowhere}); err == nil {
		t.Error("a root without a note, and nobody was told")
	}
	if _, err := os.Stat(filepath.Join(base, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("made all the same: %v", err)
	}
	open(t, base, "new", &dataroot.Options{Pins: nowhere, NoPin: true})
}

// What is odd about a place is told, and refused where that is asked for.
func TestOddPlaces(t *testing.T) {
	t.Parallel()
	base, pins := at(t) // below a directory for temporary files
	var told []string
	tell := func(err error) {
		var place *dataroot.PlaceError
		if errors.As(err, &place) {
			told = append(told, place.Why)
		}
	}
	outer := open(t, base, "outer", &dataroot.Options{Pins: pins, Lock: solehold.Options{OnWarning: tell}})
	if len(told) != 1 || !strings.Contains(told[0], "systems remove what looks old") {
		t.Errorf("%q", told)
	}
	inside := filepath.Join(outer.Dir(), "a", "b")
	must(t, os.MkdirAll(inside, 0o700))
	told = nil
	open(t, inside, "inner", &dataroot.Options{Pins: pins, Lock: solehold.Options{OnWarning: tell}}).Close()
	if len(told) != 2 || !strings.Contains(told[1], "inside "+outer.Dir()) || !strings.Contains(told[1], fmt.Sprint("pid ", os.Getpid())) {
		t.Errorf("%q", told)
	}
	var place *dataroot.PlaceError
	if _, err := dataroot.Open(t.Context(), base, "strict", &dataroot.Options{Pins: pins, Lock: solehold.Options{Strict: true}}); !errors.As(err, &place) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(base, "strict")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("made all the same: %v", err)
	}
}

// A base below a directory in which every user may rename is none; a sticky one, as
// /tmp is, lets nobody do that.
func TestBaseBelowOpenDirectory(t *testing.T) {
	t.Parallel()
	above, pins := at(t)
	base := filepath.Join(above, "x", "base")
	must(t, os.MkdirAll(base, 0o755), os.Chmod(above, 0o777))
	var bad *dataroot.BaseError
	for _, try := range []func() error{
		func() error {
			_, err := dataroot.Open(t.Context(), base, "kb", &dataroot.Options{Pins: pins})
			return err
		},
		func() error { _, err := dataroot.GC(t.Context(), base, false, nil); return err },
	} {
		if err := try(); !errors.As(err, &bad) || !strings.Contains(bad.Why, above) {
			t.Errorf("%v", err)
		}
	}
	must(t, os.Chmod(above, 0o777|fs.ModeSticky))
	open(t, base, "kb", &dataroot.Options{Pins: pins})
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(base, link))
	if r := open(t, link, "other", &dataroot.Options{Pins: pins}); filepath.Dir(r.Dir()) != base {
		t.Errorf("%s", r.Dir())
	}
}

func TestHostInstance(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/etc/machine-id"); err != nil {
		t.Log("this host has no id") // then there is no instance either
		if got, err := dataroot.HostInstance(); err == nil {
			t.Errorf("%q", got)
		}
		return
	}
	got, err := dataroot.HostInstance()
	again, _ := dataroot.HostInstance()
	if err != nil || dataroot.CheckName(got) != nil || got != again || len(got) > 16 {
		t.Errorf("%q, %q, %v", got, again, err)
	}
}

// No two pairs of service and instance share a directory.
func TestPairsAreApart(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	seen := map[string]string{}
	for _, p := range [][2]string{{"kb", ""}, {"kb", "blue"}, {"kb", "green"}, {"kb-blue", ""}, {"kb.blue", ""}, {"blue", "kb"}} {
		r := open(t, base, p[0], &dataroot.Options{Instance: p[1], Pins: pins})
		if before, ok := seen[r.Dir()]; ok {
			t.Errorf("%v and %s share %s", p, before, r.Dir())
		}
		seen[r.Dir()] = p[0] + "@" + p[1]
	}
}
