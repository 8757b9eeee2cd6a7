package lab

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/syndtr/goleveldb/leveldb"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"modernc.org/sqlite"
)

// engine is an embedded database that is open for writing.
type engine interface {
	put(key string) error
	keys() (int, error)
	close() error
}

// engineKinds opens the database in a directory, alone, and does not wait for another one.
func engineKinds() map[string]func(dir string) (engine, error) {
	return map[string]func(string) (engine, error){"bbolt": openBolt, "LevelDB": openLevel, "SQLite": openSQLite}
}

func (s *stage) engineDeeds() map[string]deed {
	return map[string]deed{
		"db-open": func(w []string) (string, error) { // NAME KIND DIR
			e, err := engineKinds()[w[1]](w[2])
			if err == nil {
				s.engines[w[0]] = e
			}
			return "", err
		},
		"db-put": func(w []string) (string, error) { return "", s.engines[w[0]].put(w[1]) },
		"db-keys": func(w []string) (string, error) {
			n, err := s.engines[w[0]].keys()
			return strconv.Itoa(n), err
		},
		"db-close": func(w []string) (string, error) { return "", s.engines[w[0]].close() },
	}
}

// isEngineHeld says that an engine has refused because another one has the data.
func isEngineHeld(err error) bool {
	const busy = 5 // SQLITE_BUSY
	var lite *sqlite.Error
	return errors.Is(err, bolterrors.ErrTimeout) || errors.As(err, &lite) && lite.Code()&0xff == busy
}

type boltEngine struct{ db *bbolt.DB }

func openBolt(dir string) (engine, error) {
	db, err := bbolt.Open(filepath.Join(dir, "bolt.db"), 0o600, &bbolt.Options{Timeout: 1}) // one try
	if err != nil {
		return nil, err
	}
	return &boltEngine{db}, db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists([]byte("b"))
		return err
	})
}

func (e *boltEngine) put(key string) error {
	return e.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("b")).Put([]byte(key), []byte(key)) })
}

func (e *boltEngine) keys() (n int, err error) {
	err = e.db.View(func(tx *bbolt.Tx) error {
		n = tx.Bucket([]byte("b")).Stats().KeyN
		return nil
	})
	return n, err
}

func (e *boltEngine) close() error { return e.db.Close() }

type levelEngine struct{ db *leveldb.DB }

func openLevel(dir string) (engine, error) {
	db, err := leveldb.OpenFile(filepath.Join(dir, "level"), nil)
	if err != nil {
		return nil, err
	}
	return &levelEngine{db}, nil
}

func (e *levelEngine) put(key string) error { return e.db.Put([]byte(key), []byte(key), nil) }

func (e *levelEngine) keys() (n int, err error) {
	all := e.db.NewIterator(nil, nil)
	defer all.Release()
	for all.Next() {
		n++
	}
	return n, all.Error()
}

func (e *levelEngine) close() error { return e.db.Close() }

// sqliteEngine has a write transaction open from the beginning, which is SQLite's way of being alone.
type sqliteEngine struct {
	db   *sql.DB
	conn *sql.Conn
}

func openSQLite(dir string) (engine, error) {
	ctx := context.Background()
	db, err := sql.Open("sqlite", filepath.Join(dir, "lite.db"))
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	e := &sqliteEngine{db, conn}
	for _, q := range []string{"BEGIN IMMEDIATE", "CREATE TABLE IF NOT EXISTS t (k TEXT)"} {
		if _, err := conn.ExecContext(ctx, q); err != nil {
			return nil, errors.Join(err, conn.Close(), db.Close())
		}
	}
	return e, nil
}

func (e *sqliteEngine) put(key string) error {
	_, err := e.conn.ExecContext(context.Background(), "INSERT INTO t VALUES (?)", key)
	return err
}

func (e *sqliteEngine) keys() (n int, err error) {
	return n, e.conn.QueryRowContext(context.Background(), "SELECT count(*) FROM t").Scan(&n)
}

func (e *sqliteEngine) close() error {
	_, err := e.conn.ExecContext(context.Background(), "COMMIT")
	if err != nil {
		err = fmt.Errorf("commit: %w", err)
	}
	return errors.Join(err, e.conn.Close(), e.db.Close())
}
