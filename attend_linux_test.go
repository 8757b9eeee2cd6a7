package solehold_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
)

// One process at a time has a role, and the directory's lock does not know of it.
func TestAttend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, err := solehold.Attend(t.Context(), dir, "watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := solehold.Attend(t.Context(), dir, "watch", nil); !errors.Is(err, solehold.ErrAttended) {
		t.Errorf("a second one: %v", err)
	}
	other, err := solehold.Attend(t.Context(), dir, "other", nil)
	if err != nil {
		t.Fatalf("another role: %v", err)
	}
	other.Close()
	lock, err := solehold.Acquire(t.Context(), dir, nil)
	if err != nil {
		t.Fatalf("the lock beside a role: %v", err)
	}
	defer lock.Release()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := solehold.Attend(t.Context(), dir, "watch", nil)
	if err != nil {
		t.Fatalf("after it was given back: %v", err)
	}
	again.Close()
}

func TestAttendantWrites(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	if _, err := solehold.Attend(t.Context(), dir, "watch", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
	a, err := solehold.Attend(t.Context(), dir, "watch", &solehold.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Log(solehold.Event{Kind: journal.Recovery, Detail: "for a test"}); err != nil {
		t.Fatal(err)
	}
	root, err := a.StateRoot()
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	h, err := journal.Read(root.FS())
	if err != nil || len(h.Events) != 1 || h.Events[0].Detail != "for a test" || h.Events[0].Seq == 0 {
		t.Errorf("%+v, %v", h, err)
	}
}

// What is planted in the role's place is not followed.
func TestAttendFollowsNothing(t *testing.T) {
	t.Parallel()
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".solehold"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, ".solehold", "watch.role")); err != nil {
		t.Fatal(err)
	}
	var op *solehold.OpError
	if _, err := solehold.Attend(t.Context(), dir, "watch", nil); !errors.As(err, &op) || op.Reason != solehold.Refused {
		t.Errorf("%v", err)
	}
}

// A role is a word: none is the lock itself, which would keep every starter out,
// nor a file elsewhere.
func TestRoles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, role := range []string{"", "..", ".", "../victim", "a/b", "Watch", "watch.json", "a\x00b"} {
		var op *solehold.OpError
		if _, err := solehold.Attend(t.Context(), dir, role, nil); !errors.As(err, &op) || op.Reason != solehold.Refused {
			t.Errorf("%q: %v", role, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("something was made: %v, %v", entries, err)
	}
	for _, role := range []string{"lock", "release", "pair", "health", "refusals"} {
		a, err := solehold.Attend(t.Context(), dir, role, nil)
		if err != nil {
			t.Fatalf("%q: %v", role, err)
		}
		lock, err := solehold.Acquire(t.Context(), dir, nil)
		if err != nil {
			t.Fatalf("beside %q: %v", role, err)
		}
		if err := errors.Join(lock.Release(), a.Close()); err != nil {
			t.Error(err)
		}
	}
}

// What was given back writes nothing more, and is given back once.
func TestAttendantIsOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, err := solehold.Attend(t.Context(), dir, "watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.Log(solehold.Event{Kind: journal.Recovery}); err == nil {
		t.Error("an event after the end")
	}
	if root, err := a.StateRoot(); err == nil {
		root.Close()
		t.Error("a root after the end")
	}
	again, err := solehold.Attend(t.Context(), dir, "watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := a.Close(); err != nil { // must not close what has its descriptors' numbers by now
		t.Errorf("a second end: %v", err)
	}
	if err := again.Log(solehold.Event{Kind: journal.Recovery}); err != nil {
		t.Error(err)
	}
	if _, err := solehold.Attend(t.Context(), dir, "watch", nil); !errors.Is(err, solehold.ErrAttended) {
		t.Errorf("beside it: %v", err)
	}
}
