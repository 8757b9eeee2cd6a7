package doctor

import (
	"path/filepath"
	"slices"
	"strings"
)

// engine is a kind of data directory, or of data file.
type engine struct {
	name string
	// marks are files of the directory, all of which must be there. None of them
	// is opened.
	marks []string
	// lock is the file that the engine itself locks, "." for the directory, empty
	// for none.
	lock string
	// shared says that several processes may write, for the engine arbitrates
	// between them.
	shared bool
	// pidfile is the file in which the engine keeps its pid, instead of a lock.
	pidfile string
	// rise is how many levels an open file may lie below the directory.
	rise int
	// files are patterns of the names of open files that make a directory worth
	// a look; none means any.
	files []string
}

// knownEngines are the kinds of directory, the more particular first.
func knownEngines() []engine {
	return []engine{
		{name: "PostgreSQL", marks: []string{"PG_VERSION", "global"}, pidfile: "postmaster.pid", rise: 3, files: []string{"[0-9]*", "pg_*"}},
		{name: "MySQL", marks: []string{"ibdata1"}, lock: "ibdata1", rise: 1, files: []string{"ib*", "*.ibd", "undo*", "aria_log*", "#ib*"}},
		{name: "MongoDB", marks: []string{"WiredTiger", "mongod.lock"}, lock: "mongod.lock", rise: 1, files: []string{"*.wt", "WiredTiger*", "mongod.lock"}},
		{name: "Kafka", marks: []string{"meta.properties", ".lock"}, lock: ".lock", rise: 1, files: []string{"*.log", "*.index", "*.timeindex", ".lock"}},
		{name: "Prometheus", marks: []string{"wal", "chunks_head"}, lock: "lock", rise: 1, files: []string{"lock", "0*", "queries.active"}},
		{name: "Lucene", marks: []string{"write.lock", "segments_*"}, lock: "write.lock", files: []string{"write.lock", "_*", "pending_segments*"}},
		{name: "Lucene", marks: []string{"write.lock", "_*.fd?"}, lock: "write.lock", files: []string{"write.lock", "_*", "pending_segments*"}}, // nothing committed yet
		{name: "Pebble", marks: []string{"LOCK", "marker.*"}, lock: "LOCK", files: []string{"LOCK", "*.log", "*.sst", "MANIFEST-*"}},
		{name: "RocksDB", marks: []string{"CURRENT", "LOCK", "OPTIONS-*"}, lock: "LOCK", files: []string{"LOCK", "*.log", "*.sst", "MANIFEST-*", "LOG"}},
		{name: "LevelDB", marks: []string{"CURRENT", "LOCK"}, lock: "LOCK", files: []string{"LOCK", "*.log", "*.ldb", "MANIFEST-*", "LOG"}},
		{name: "Badger", marks: []string{"MANIFEST", "KEYREGISTRY"}, lock: ".", files: []string{"*.vlog", "*.mem", "*.sst", "MANIFEST", "KEYREGISTRY", "DISCARD"}},
		{name: "Redis", marks: []string{"appendonlydir"}, rise: 1, files: []string{"*.aof"}},
	}
}

// mayHold says whether an open file could belong to the engine, by its name.
func (e engine) mayHold(base string) bool {
	return len(e.files) == 0 || slices.ContainsFunc(e.files, func(p string) bool { return matches(p, base) })
}

// matches is filepath.Match for patterns that are known to be right.
func matches(pattern, name string) bool {
	ok, err := filepath.Match(pattern, name)
	return ok && err == nil
}

// marked says whether a listing has all of the engine's marks.
func (e engine) marked(names []string) bool {
	return len(e.marks) > 0 && !slices.ContainsFunc(e.marks, func(mark string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return matches(mark, name) })
	})
}

// ofDirectory recognises a directory by its listing.
func ofDirectory(names []string) (engine, bool) {
	all := knownEngines()
	if i := slices.IndexFunc(all, func(e engine) bool { return e.marked(names) }); i >= 0 {
		return all[i], true
	}
	return engine{}, false
}

// fileEngines are data in one file, with its first bytes.
type fileEngine struct {
	engine
	offset int
	magic  string
}

func fileEngines() []fileEngine {
	return []fileEngine{
		{engine{name: "SQLite", lock: ".", shared: true}, 0, "SQLite format 3\x00"},
		{engine{name: "bbolt", lock: "."}, 16, "\xed\xda\x0c\xed"},
	}
}

// ofFile recognises a data file by its beginning.
func ofFile(head []byte) (engine, bool) {
	for _, e := range fileEngines() {
		if len(head) >= e.offset && strings.HasPrefix(string(head[e.offset:]), e.magic) {
			return e.engine, true
		}
	}
	return engine{}, false
}

// mayBeData says whether the name of an open file is one that data files have.
func mayBeData(base string) bool {
	return slices.ContainsFunc([]string{"*.db", "*.db3", "*.sqlite", "*.sqlite3", "*.bolt", "*.bdb", "*.bbolt"}, func(p string) bool { return matches(p, base) })
}
