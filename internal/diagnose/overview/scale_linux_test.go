package overview_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/procfs"
)

// The size of a big host.
const (
	manyDirs   = 500
	manyEvents = 100_000
	perProcess = 20
)

// bigHost makes many held directories with a long history between them.
func bigHost(t testing.TB) []string {
	t.Helper()
	base := dataDir(t)
	at := time.Now().Add(-24 * time.Hour)
	var dirs []string
	for i := range manyDirs {
		dir := filepath.Join(base, fmt.Sprintf("p%02d", i/perProcess), fmt.Sprintf("d%03d", i))
		must(t, os.MkdirAll(dir, 0o755))
		var events []journal.Event
		for n := range manyEvents / manyDirs {
			kinds := journal.Kinds()
			events = append(events, journal.Event{
				Time: at.Add(time.Duration(n) * time.Second), Seq: int64(n), Boot: "boot", Kind: kinds[n%len(kinds)], Token: uint64(n/len(kinds)) + 1,
				PID: 1000 + n, Name: "kb --addr :8080", By: "kb.service", Detail: "something happened here that is told in half a line of text",
			})
		}
		history(t, dir, events...)
		dirs = append(dirs, dir)
	}
	for i := range manyDirs / perProcess {
		start(t, "hold-below "+filepath.Join(base, fmt.Sprintf("p%02d", i)))
	}
	return dirs
}

// A look at what has not changed makes little garbage, and many directories with a
// long past need little memory. Both are counted in bytes: times depend on who else
// works here.
func TestManyDirectories(t *testing.T) {
	dirs := bigHost(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	locks, err := procfs.Default().System("locks") // of now: those of other tests come and go
	must(t, err)
	w := overview.NewWatcher(overview.Options{
		Paths: dirs, Examine: -1, Timeout: patience,
		Proc: procfs.New(fstest.MapFS{"locks": {Data: []byte(locks)}}),
	})
	begun := time.Now()
	h := w.Look(t.Context())
	t.Logf("first look %v", time.Since(begun))
	held, events := 0, 0
	for _, d := range h.Directories {
		if d.State == solehold.Held {
			held++
		}
		events += d.Events
	}
	if held < manyDirs || events < manyEvents {
		t.Fatalf("%d held, %d events", held, events)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 16<<20 {
		t.Errorf("%d bytes are kept", kept)
	}
	w.Look(t.Context())
	runtime.ReadMemStats(&before)
	begun = time.Now()
	const times = 10
	for range times {
		if again := w.Look(t.Context()); again.Revision != h.Revision {
			t.Error("it has changed")
		}
	}
	t.Logf("each look %v", time.Since(begun)/times)
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / times; each > 1<<20 {
		t.Errorf("a look at nothing new takes %d bytes", each)
	} else {
		t.Logf("%d bytes each", each)
	}
}
