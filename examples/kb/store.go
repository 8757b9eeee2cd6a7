package main

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/solehold/solehold"
	"modernc.org/sqlite"
)

//go:embed schema.sql
var schemaSQL string

// errFenced says that a later owner has written to the database.
var errFenced = errors.New("the database has seen the higher token")

// connections is how many requests may use the database at once; others wait.
const connections = 8

// note is one entry of the knowledge base.
type note struct {
	ID    int64  `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// hit is a note that was found; the words that matched are in [brackets].
type hit struct {
	ID      int64  `json:"id"`
	Title   string `json:"title"`
	Snippet string `json:"snippet"`
}

// store is the notes in their database. Its methods may be called by any goroutine.
type store struct {
	db    *sql.DB
	path  string
	token uint64
	turn  chan struct{} // holds one value; who has taken it may write, and puts it back
}

// openStore opens the database at path, made if it is missing, for the owner with this token. The error is a
// *solehold.OpError with the reason Refused if a later owner was there.
func openStore(ctx context.Context, path string, token uint64) (*store, error) {
	dsn, err := dataSource(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	s := &store{db: db, path: path, token: token, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// dataSource gives the name by which the driver opens path.
func dataSource(path string) (string, error) {
	path, err := filepath.Abs(path)
	options := url.Values{
		"_busy_timeout": {"5000"},
		"_txlock":       {"immediate"}, // wait for the turn at the start, where nothing is lost by it
		// An answer 201 is kept through a power loss, too: with WAL that takes synchronous=full.
		"_pragma": {"journal_mode(wal)", "synchronous(full)"},
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: options.Encode()}
	return u.String(), err
}

// begin makes the tables and writes down that this token is the writer now.
func (s *store) begin(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil) // this opens the file
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, schemaSQL); err != nil {
		return err
	}
	if err := s.fence(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM writer; INSERT INTO writer VALUES (?)", int64(s.token)); err != nil {
		return err
	}
	return tx.Commit()
}

// querier is a database or a transaction in it.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// fence fails where the database has seen a higher token than ours.
//
// The lock keeps two owners apart, and each has a higher token than all before it. So a higher token in the database
// means that this process is not the latest owner, or that lock and database no longer belong together: .solehold was
// removed, and tokens began again at 1, or kb.db was copied from elsewhere. In the first case a write would spoil
// another owner's work; the others cannot be told from it. In the transaction of a write the question and the write
// are one step, which no check of the lock beforehand could be: the process may be stopped between check and write.
func (s *store) fence(ctx context.Context, q querier) error {
	var seen uint64
	err := q.QueryRowContext(ctx, "SELECT coalesce(max(token), 0) FROM writer").Scan(&seen)
	if err != nil || seen <= s.token {
		return err
	}
	return &solehold.OpError{
		Op: "write", Path: s.path, Reason: solehold.Refused,
		Err: fmt.Errorf("%w %d, and ours is %d", errFenced, seen, s.token),
	}
}

// add keeps a note and returns its id. After a nil error it is on the disk.
func (s *store) add(ctx context.Context, n note) (id int64, err error) {
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	if err := s.fence(ctx, tx); err != nil {
		return 0, err
	}
	result, err := tx.ExecContext(ctx, "INSERT INTO notes (title, text) VALUES (?, ?)", n.Title, n.Text)
	if err != nil {
		return 0, err
	}
	if id, err = result.LastInsertId(); err != nil {
		return 0, err
	}
	return id, tx.Commit()
}

// get returns the note with this id, or sql.ErrNoRows.
func (s *store) get(ctx context.Context, id int64) (note, error) {
	n := note{ID: id}
	err := s.db.QueryRowContext(ctx, "SELECT title, text FROM notes WHERE rowid = ?", id).Scan(&n.Title, &n.Text)
	return n, err
}

// search returns the best hits, at most limit, for a query in the syntax of FTS5. The error is a *queryError if it is
// not in that syntax.
func (s *store) search(ctx context.Context, query string, limit int) ([]hit, error) {
	hits := []hit{}
	// A snippet is 16 words, and a word may be as long as its note.
	const find = `SELECT rowid, title, substr(snippet(notes, -1, '[', ']', '…', 16), 1, 400)
		FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT ?`
	rows, err := s.db.QueryContext(ctx, find, query, limit)
	if err != nil {
		return nil, asQueryError(err)
	}
	defer rows.Close()
	for rows.Next() {
		var h hit
		if err := rows.Scan(&h.ID, &h.Title, &h.Snippet); err != nil {
			return nil, err
		}
		hits = append(hits, h)
	}
	return hits, asQueryError(rows.Err())
}

// queryError says what is wrong with a search.
type queryError struct{ why string }

func (e *queryError) Error() string {
	return `bad query: ` + e.why + ` (put "quotes" around words with punctuation)`
}

// asQueryError finds the errors that can only come from the query of the user, since the statement around it is fixed.
func asQueryError(err error) error {
	const logic = 1 // SQLITE_ERROR
	var e *sqlite.Error
	if !errors.As(err, &e) || e.Code() != logic {
		return err
	}
	why := strings.TrimSuffix(strings.TrimPrefix(e.Error(), "SQL logic error: "), " (1)")
	return &queryError{why}
}

// close waits for the write that is under way and lets no other begin. SQLite moves its log into the database when the
// last connection is closed, unless the file is no longer at its path or another process has it open: after the loss of
// the lock nothing of a successor is touched.
func (s *store) close() error {
	<-s.turn
	return s.db.Close()
}
