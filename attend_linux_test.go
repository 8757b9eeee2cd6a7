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
	if err := os.Symlink(victim, filepath.Join(dir, ".solehold", "watch")); err != nil {
		t.Fatal(err)
	}
	var op *solehold.OpError
	if _, err := solehold.Attend(t.Context(), dir, "watch", nil); !errors.As(err, &op) || op.Reason != solehold.Refused {
		t.Errorf("%v", err)
	}
}
