//go:build linux && (amd64 || arm64) && !race

package doctor_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/dgraph-io/badger/v4"
	"github.com/syndtr/goleveldb/leveldb"
	"go.etcd.io/bbolt"
	"modernc.org/sqlite"
)

// Importing the driver registers it.
var _ sqlite.Driver

// engineStep opens data with the real engine, and writes to it.
func engineStep(verb, arg string) (bool, error) {
	var db any
	var err error
	switch verb {
	case "bbolt":
		db, err = bbolt.Open(arg, 0o600, nil)
	case "leveldb":
		db, err = leveldb.OpenFile(arg, nil)
	case "badger":
		db, err = badger.Open(badger.DefaultOptions(arg).WithLogger(nil))
	case "pebble":
		db, err = pebble.Open(arg, &pebble.Options{Logger: quiet{}})
	case "sqlite":
		db, err = openSQLite(arg)
	default:
		return false, nil
	}
	kept = append(kept, db)
	return true, err
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) {}

func openSQLite(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(wal)")
	if err == nil {
		_, err = db.Exec("create table if not exists t (x); insert into t values (1)")
	}
	return db, err
}

// engineCase is one engine: where its data is below a directory, a file of it,
// and what is found when a child outlives it.
type engineCase struct {
	name, data, file, kind string
	orphan                 string
	shared                 bool
}

func engineCases() []engineCase {
	return []engineCase{
		{name: "bbolt", data: "my.db", file: "my.db", kind: "bbolt file", orphan: "SH013"},
		{name: "leveldb", file: "LOG", kind: "LevelDB data directory", orphan: "SH013"},
		{name: "badger", file: "KEYREGISTRY", kind: "Badger data directory", orphan: "SH013"},
		{name: "pebble", file: "LOCK", kind: "Pebble data directory", orphan: "SH031"},
		{name: "sqlite", data: "my.sqlite", file: "my.sqlite", kind: "SQLite file", shared: true},
	}
}

// Each engine, held properly: recognised, its own lock and its holder named,
// nothing found.
func TestEngineHeld(t *testing.T) {
	t.Parallel()
	for _, e := range engineCases() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(place(t), e.data)
			a := acting(t, e.name+" "+path)
			r := examine(t, path)
			wantIDs(t, r)
			s := r.Paths[0]
			if s.Kind != e.kind {
				t.Errorf("%+v", s)
			}
			if !e.shared && (!strings.HasPrefix(s.State, "held") || !names(s.Holders, a.pid())) {
				t.Errorf("%+v", s)
			}
			a.end()
			r = examine(t, path)
			wantIDs(t, r)
			if s := r.Paths[0]; !strings.HasPrefix(s.State, "not held") {
				t.Errorf("at rest: %+v", s)
			}
		})
	}
}

// A second writer that went past the engine's lock is found beside the first.
func TestEngineTwoWriters(t *testing.T) {
	t.Parallel()
	for _, e := range engineCases() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			dir := place(t)
			path := filepath.Join(dir, e.data)
			a := acting(t, e.name+" "+path)
			file := filepath.Join(dir, e.file)
			// Nothing makes it a relative: its parent is gone.
			b := leaving(t, `sleep 600 5>>"$1" >/dev/null & echo $!`, file)
			want := "SH030"
			if e.shared {
				want = "SH034"
			}
			r := until(t, want, path)
			f := only(t, r, want)
			if !names(f.Holders, a.pid()) || !names(f.Holders, b) {
				t.Errorf("%+v", f)
			}
			if !e.shared && (!has(f.Evidence, fmt.Sprint("pid ", a.pid()), "has the engine's lock") || !has(f.Evidence, fmt.Sprint("pid ", b), "without the engine's lock")) {
				t.Errorf("%q", f.Evidence)
			}
		})
	}
}

// leftToAChild has an engine open its data and leave it to a child. The opener is gone.
func leftToAChild(t *testing.T, e engineCase) (path string, opener, child int) {
	t.Helper()
	path = filepath.Join(place(t), e.data)
	a := starting(t, nil, e.name+" "+path, "leave", "stay")
	text, err := a.out.ReadString('\n')
	must(t, err)
	child, err = strconv.Atoi(strings.TrimSpace(text))
	must(t, err)
	t.Cleanup(func() { syscall.Kill(child, syscall.SIGKILL) })
	must(t, a.cmd.Process.Kill())
	a.cmd.Wait()
	return path, a.cmd.Process.Pid, child
}

// A child that outlives the engine has its files. It keeps a lock that belongs to
// the open file; one that belongs to the process is gone.
func TestEngineLeftToAChild(t *testing.T) {
	t.Parallel()
	for _, e := range engineCases() {
		if e.shared {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			path, opener, child := leftToAChild(t, e)
			for child < opener { // the numbers have just begun anew: then it is not shown, see docs/findings/SH013.md
				path, opener, child = leftToAChild(t, e)
			}
			r := until(t, e.orphan, path)
			f := find(r, e.orphan)[0]
			if !names(f.Holders, child) {
				t.Errorf("child %d: %+v", child, f)
			}
		})
	}
}
