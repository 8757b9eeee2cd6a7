package solehold_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/record"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place makes a directory that every user can reach.
func place(t testing.TB) string {
	t.Helper()
	dir := tempDir(t)
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	must(t, os.Chmod(dir, 0o755))
	return dir
}

// dataDir makes an empty data directory.
func dataDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(place(t), "data")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Chmod(dir, 0o755)) // whatever the umask is
	return dir
}

func stateDir(dir string) string { return filepath.Join(dir, ".solehold") }

func lockFile(dir string) string { return filepath.Join(stateDir(dir), "lock") }

// patient are the options of a test whose machine may be slow.
func patient() *solehold.Options { return &solehold.Options{Timeout: answerTime} }

// hold takes dir in this process for the length of the test.
func hold(t testing.TB, dir string) *solehold.Lock {
	t.Helper()
	lock, err := solehold.Acquire(context.Background(), dir, patient())
	must(t, err)
	t.Cleanup(func() { lock.Release() })
	return lock
}

// once takes dir and lets it go, and returns the token.
func once(t testing.TB, dir string) uint64 {
	t.Helper()
	lock, err := solehold.Acquire(context.Background(), dir, patient())
	must(t, err)
	must(t, lock.Release())
	return lock.Token()
}

func state(t testing.TB, dir string) solehold.Status {
	t.Helper()
	s, err := solehold.Inspect(context.Background(), dir, patient())
	must(t, err)
	return s
}

func wantState(t testing.TB, dir string, want solehold.State) {
	t.Helper()
	if s := state(t, dir); s.State != want {
		t.Errorf("state %s, want %s: %+v", s.State, want, s)
	}
}

func wantHeld(t testing.TB, a answer) {
	t.Helper()
	if !a.Held || a.Code != 0 {
		t.Errorf("want held, got %+v", a)
	}
}

func wantFree(t testing.TB, a answer) {
	t.Helper()
	if !a.ok() || a.Token == 0 {
		t.Errorf("want a lock, got %+v", a)
	}
}

// wantLost waits for the loss of a lock.
func wantLost(t testing.TB, l *solehold.Lock) {
	t.Helper()
	select {
	case <-l.Context().Done():
	case <-after(t, patience):
		t.Fatal("the loss is not told")
	}
	var lost *solehold.LostError
	if err := context.Cause(l.Context()); !errors.As(err, &lost) || solehold.ExitCode(err) != 76 {
		t.Errorf("cause %v", err)
	}
}

func wantKept(t testing.TB, l *solehold.Lock) {
	t.Helper()
	if err := context.Cause(l.Context()); err != nil {
		t.Errorf("the lock is gone: %v", err)
	}
}

// after is a channel that fires once.
func after(t testing.TB, d time.Duration) <-chan time.Time {
	timer := time.NewTimer(d)
	t.Cleanup(func() { timer.Stop() })
	return timer.C
}

func history(t testing.TB, dir string) journal.History {
	t.Helper()
	h, err := journal.Read(os.DirFS(stateDir(dir)))
	must(t, err)
	return h
}

// events returns those of one kind.
func events(t testing.TB, dir string, kind journal.Kind) []solehold.Event {
	t.Helper()
	var found []solehold.Event
	for _, e := range history(t, dir).Events {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// touch makes a file in the state directory, which wakes the holder's self-check.
func touch(t testing.TB, dir string) {
	t.Helper()
	path := filepath.Join(stateDir(dir), "touched")
	must(t, os.WriteFile(path, nil, 0o600))
	must(t, os.Remove(path))
}

// recordOf reads the newest record.
func recordOf(t testing.TB, dir string) *record.Record {
	t.Helper()
	data, err := os.ReadFile(lockFile(dir))
	must(t, err)
	r, err := record.Decode(data)
	must(t, err)
	return r
}

// forge writes r as the newest record of dir, into the lock file as it is.
func forge(t testing.TB, dir string, r record.Record) {
	t.Helper()
	slot := record.NewEncoder(r.Holder).Encode(&r)
	overwrite(t, lockFile(dir), append(slot, slot...))
}

// overwrite replaces the content of a file, not the file.
func overwrite(t testing.TB, path string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	must(t, err)
	_, err = f.Write(data)
	must(t, errors.Join(err, f.Close()))
}

// wantSelf wants the refusal of what this process itself holds.
func wantSelf(t testing.TB, err error) {
	t.Helper()
	var held *solehold.HeldError
	if !errors.As(err, &held) || !held.Self || !errors.Is(err, solehold.ErrHeld) {
		t.Errorf("want a HeldError with Self, got %v", err)
	}
}

func acquireAt(t *testing.T, dir, state string) (*solehold.Lock, error) {
	t.Helper()
	lock, err := solehold.Acquire(context.Background(), dir, &solehold.Options{StateDir: state, Timeout: answerTime})
	if err == nil {
		t.Cleanup(func() { lock.Release() })
	}
	return lock, err
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("%s is not empty: %v, %v", dir, names, err)
	}
}
