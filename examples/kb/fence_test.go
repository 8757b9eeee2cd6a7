package main_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"modernc.org/sqlite"
)

// open opens the database of dir, as another process would.
func open(t *testing.T, dir string) *sql.DB {
	t.Helper()
	c, err := sqlite.NewConnector(filepath.Join(dir, "kb.db") + "?_busy_timeout=5000&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() { db.Close() })
	return db
}

// change executes a statement in the database of dir.
func change(t *testing.T, dir, statement string) {
	t.Helper()
	db := open(t, dir)
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// TestFencedWhileRunning is a process that a later owner has overtaken: it may read, and its writes are refused.
func TestFencedWhileRunning(t *testing.T) {
	dir := t.TempDir()
	s := start(t, kb(dir))
	id := s.add(t, "before", "the later owner")
	change(t, dir, "UPDATE writer SET token = token + 1")
	if text := s.do(t, 503, "POST", "/notes", `{"title": "after", "text": "the later owner"}`); !strings.Contains(text, "no longer") {
		t.Errorf("it says %s", text)
	}
	if text := s.do(t, 503, "GET", "/healthz", ""); !strings.Contains(text, "has seen the higher token 2, and ours is 1") {
		t.Errorf("health says %s", text)
	}
	s.expect(t, id, "before", "the later owner")
	if found := s.search(t, "owner"); len(found) != 1 {
		t.Errorf("found %v", found)
	}
}

// TestFencedAtStart is a database that does not belong to the lock: the copy of another directory, say.
func TestFencedAtStart(t *testing.T) {
	dir := t.TempDir()
	first := start(t, kb(dir))
	id := first.add(t, "kept", "by the fence")
	first.stop(t, syscall.SIGTERM)
	change(t, dir, "UPDATE writer SET token = 99")

	code, text := refused(t, kb(dir))
	if code != 78 || !strings.Contains(text, "kb.db: cannot write: the database has seen the higher token 99, and ours is 2") {
		t.Errorf("ended with %d:\n%s", code, text)
	}
	if code, _ := refused(t, kb(dir)); code != 78 {
		t.Errorf("the next start ended with %d: the refusal must not change the database", code)
	}

	change(t, dir, "DELETE FROM writer") // what README.md tells to do
	second := start(t, kb(dir))
	second.expect(t, id, "kept", "by the fence")
	second.add(t, "and", "on")
}

// TestHealthNeedsDatabase: an answer of the process alone proves nothing.
func TestHealthNeedsDatabase(t *testing.T) {
	dir := t.TempDir()
	s := start(t, kb(dir))
	if text := s.do(t, 200, "GET", "/healthz", ""); text != "ok\n" {
		t.Errorf("health says %q", text)
	}
	change(t, dir, "DROP TABLE writer")
	s.do(t, 503, "GET", "/healthz", "")
	s.do(t, 500, "POST", "/notes", `{"title": "a", "text": "b"}`)
	s.waitLog(t, "no such table: writer")
}

// TestJournal: without a log on the disk a kill in the midst of a write spoils the database.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	start(t, kb(dir))
	var mode string
	if err := open(t, dir).QueryRow("PRAGMA journal_mode").Scan(&mode); err != nil || mode != "wal" {
		t.Errorf("the journal is %q, %v", mode, err)
	}
}

// TestWaitsForOtherWriter: a backup or a shell may have the database locked for a moment.
func TestWaitsForOtherWriter(t *testing.T) {
	dir := t.TempDir()
	s := start(t, kb(dir))
	tx, err := open(t, dir).Begin()
	if err != nil {
		t.Fatal(err)
	}
	u := beginUpload(t, s, `{"title": "patient", "text": "writer"}`)
	u.send()
	for range 50 { // readers do not wait, and a writer that gave up would do so meanwhile
		s.do(t, 200, "GET", "/healthz", "")
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if status := u.status(t); status != 201 {
		t.Errorf("the note got %d", status)
	}
}
