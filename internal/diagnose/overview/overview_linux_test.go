package overview_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/journal"
)

// quiet is a watcher without doctor, for what needs none.
func quiet(paths ...string) *overview.Watcher {
	return overview.NewWatcher(overview.Options{Paths: paths, Examine: -1, Timeout: patience})
}

// A directory that nobody has named is found by its holder, stays in sight when it
// is free, and shows its next one.
func TestFoundWithoutRegistry(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	w := quiet()
	if d, ok := w.Look(t.Context()).Find(dir); ok {
		t.Fatalf("nobody has it: %+v", d)
	}
	first := start(t, "hold "+dir)
	d := until(t, w, dir, func(d overview.Directory) bool { return d.State == solehold.Held })
	if d.Owner == nil || d.Owner.PID != first.Process.Pid || d.Token != 1 || d.Problem != nil || d.Acquired != 1 || d.Path != dir {
		t.Errorf("%+v", d)
	}
	first.end()
	d = until(t, w, dir, func(d overview.Directory) bool { return d.State == solehold.Free })
	if d.Record.Class != "stale" || d.Owner != nil {
		t.Errorf("%+v", d)
	}
	second := start(t, "hold "+dir)
	d = until(t, w, dir, func(d overview.Directory) bool { return d.State == solehold.Held })
	if d.Owner.PID != second.Process.Pid || d.Token != 2 || d.Takeovers != 1 || d.Before == nil || d.Before.Class != "crash" {
		t.Errorf("%+v", d)
	}
}

// What is named is told about whether somebody has it or not, once, under the name
// that was given.
func TestNamed(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	link := filepath.Join(dataDir(t), "link")
	must(t, os.Symlink(dir, link))
	w := quiet(link)
	if d, ok := w.Look(t.Context()).Find(link); !ok || d.State != solehold.Free || d.Dir != dir || d.Record.Class != "none" {
		t.Errorf("%v %+v", ok, d)
	}
	start(t, "hold "+dir)
	until(t, w, link, func(d overview.Directory) bool { return d.State == solehold.Held })
	n := 0
	for _, d := range w.Look(t.Context()).Directories {
		if d.Dir == dir {
			n++
		}
	}
	if n != 1 {
		t.Errorf("shown %d times", n)
	}
}

// A look at what has not changed is the same answer.
func TestNothingChanged(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	start(t, "hold "+dir)
	w := quiet(dir)
	w.Look(t.Context())
	at := func() time.Time { d, _ := w.Look(t.Context()).Find(dir); return d.Looked }
	first := at()
	for range 5 {
		if again := at(); again != first {
			t.Errorf("read again: %v, %v", first, again)
		}
	}
	history(t, dir, journal.Event{Time: time.Now(), Kind: journal.Refused, More: 2})
	if d, _ := w.Look(t.Context()).Find(dir); d.Looked == first || d.Refusals != 3 || d.Refused != 3 {
		t.Errorf("%+v", d)
	}
}

// A directory that goes while it is read is not shown as half of what it was.
func TestGoesWhileRead(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(dataDir(t), "kb")
	must(t, os.Mkdir(dir, 0o755))
	start(t, "hold "+dir)
	w := quiet(dir)
	var seen []string
	w.BeforeFile(func(path string) {
		seen = append(seen, filepath.Base(path))
		if filepath.Base(path) == journal.PulseName { // its lock was asked already, its history was not
			os.Rename(dir, dir+".away")
		}
	})
	d, _ := w.Look(t.Context()).Find(dir)
	if d.Err == nil || d.Problem == nil || d.Problem.Kind != overview.Vanished || d.Owner != nil {
		t.Errorf("%v: %s %v, owner %v, problem %v", seen, d.State, d.Err, d.Owner, d.Problem)
	}
}

// The sums of a history, also of what comes later and over a rotation.
func TestStory(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	at := time.Date(2026, 11, 29, 13, 20, 7, 0, time.UTC)
	e := func(seq time.Duration, kind journal.Kind, token uint64, detail string) journal.Event {
		return journal.Event{Time: at.Add(seq), Seq: int64(seq), Boot: "b", Kind: kind, Token: token, Detail: detail}
	}
	history(t, dir,
		e(0, journal.Acquired, 1, ""), e(1, journal.Acquired, 1, "lock of the cluster: etcd /kb"),
		e(2*time.Second, journal.Ready, 1, ""),
		e(3*time.Second, journal.Restart, 1, "starting again now: it was unhealthy"),
		e(4*time.Second, journal.ReleaseRequested, 1, "by pid 7"),
		e(5*time.Second, journal.Released, 1, ""), e(5*time.Second+3*time.Millisecond, journal.Acquired, 2, ""),
		e(6*time.Second, journal.Restart, 2, "giving up after 3 failures in a row"),
		e(7*time.Second, journal.Lost, 2, "cut off"),
	)
	w := quiet(dir)
	d, _ := w.Look(t.Context()).Find(dir)
	if d.Acquired != 2 || d.Restarts != 1 || !d.LastRestart.Equal(at.Add(3*time.Second)) || d.Losses != 1 || d.Takeovers != 0 || !d.GaveUp.Equal(at.Add(6*time.Second)) || d.Events != 9 {
		t.Errorf("%+v", d)
	}
	if d.HandOff.Count != 1 || d.HandOff.Last != 0.003 || d.HandOff.Buckets != [12]int{0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1} {
		t.Errorf("hand-off %+v", d.HandOff)
	}
	if d.Acquire.Count != 1 || d.Acquire.Last != 1.003 || d.Start.Count != 1 || d.Start.Sum != 2 {
		t.Errorf("acquire %+v, start %+v", d.Acquire, d.Start)
	}
	state := filepath.Join(dir, ".solehold")
	history(t, dir, e(8*time.Second, journal.Vanished, 2, "")) // unread when the file is moved
	must(t, os.Rename(filepath.Join(state, journal.Name), filepath.Join(state, journal.Name+".1")))
	history(t, dir, e(9*time.Second, journal.Acquired, 3, ""))
	if d, _ := w.Look(t.Context()).Find(dir); d.Events != 11 || d.Acquired != 3 || d.Takeovers != 1 || !d.GaveUp.IsZero() {
		t.Errorf("after the rotation: %+v", d)
	}
	must(t, os.WriteFile(filepath.Join(state, journal.Name), nil, 0o600)) // somebody has emptied it
	must(t, os.Remove(filepath.Join(state, journal.Name+".1")))
	if d, _ := w.Look(t.Context()).Find(dir); d.Events != 0 || d.Acquired != 0 {
		t.Errorf("emptied: %+v", d)
	}
}

// A row says why it could not be read, and the others are not concerned.
func TestProblems(t *testing.T) {
	t.Parallel()
	base := dataDir(t)
	sub := func(name string) string {
		dir := filepath.Join(base, name)
		must(t, os.MkdirAll(filepath.Join(dir, ".solehold"), 0o700))
		return dir
	}
	missing := filepath.Join(base, "missing")
	torn := sub("torn")
	must(t, os.WriteFile(filepath.Join(torn, ".solehold", "lock"), []byte("not a record\n"), 0o600))
	foreign := sub("foreign")
	must(t, os.Symlink("/etc/passwd", filepath.Join(foreign, ".solehold", "lock")))
	fine := sub("fine")
	h := quiet(missing, torn, foreign, fine).Look(t.Context())
	for dir, want := range map[string]overview.Trouble{missing: overview.Vanished, torn: overview.Unreadable, foreign: overview.Foreign, fine: ""} {
		d, _ := h.Find(dir)
		if got := d.Problem; (got == nil) != (want == "") || got != nil && (got.Kind != want || got.Detail == "") {
			t.Errorf("%s: %+v", dir, got)
		}
	}
}

// A directory that vanishes while it is shown says so, and is itself again when it
// comes back.
func TestVanishes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(dataDir(t), "data")
	must(t, os.Mkdir(dir, 0o755))
	a := start(t, "hold "+dir)
	w := quiet()
	until(t, w, dir, func(d overview.Directory) bool { return d.State == solehold.Held })
	must(t, os.Rename(dir, dir+".away")) // its holder would make its files anew in an emptied one
	d := until(t, w, dir, func(d overview.Directory) bool { return d.State == solehold.NotKnown })
	if d.Problem == nil || d.Problem.Kind != overview.Vanished {
		t.Errorf("%+v", d.Problem)
	}
	a.end()
	must(t, os.Mkdir(dir, 0o755))
	d = until(t, w, dir, func(d overview.Directory) bool { return d.State == solehold.Free })
	if d.Problem != nil || d.Events != 0 {
		t.Errorf("%+v", d)
	}
}

// Who writes without the lock, and who waits for it, is what doctor sees.
func TestDoctorTells(t *testing.T) {
	t.Parallel()
	held, free := dataDir(t), dataDir(t)
	start(t, "hold "+held)
	start(t, "write "+filepath.Join(held, "file"))
	start(t, "wait "+held)
	start(t, "write "+filepath.Join(free, "file"))
	must(t, os.MkdirAll(filepath.Join(free, ".solehold"), 0o700))
	w := overview.NewWatcher(overview.Options{Paths: []string{free}, Examine: time.Millisecond, Timeout: patience})
	d := until(t, w, held, func(d overview.Directory) bool { return d.State == solehold.Split && d.Waiters == 1 })
	if len(d.Findings) != 1 || !strings.HasPrefix(d.Findings[0], "SH030: ") {
		t.Errorf("%+v", d)
	}
	if h := w.Look(t.Context()); h.Examined.IsZero() || len(h.Doctor.Findings) == 0 {
		t.Errorf("%+v", h)
	}
}

// Beyond the limit directories are counted.
func TestLimit(t *testing.T) {
	t.Parallel()
	o := overview.Options{Limit: 2, Examine: -1, Timeout: patience}
	for range 5 {
		o.Paths = append(o.Paths, dataDir(t))
	}
	if h := overview.Look(t.Context(), o); len(h.Directories) != 2 || h.LeftOut != 2 { // and no more are counted
		t.Errorf("%d shown, %d left out", len(h.Directories), h.LeftOut)
	}
}

// What changes while it is read is read again: the last of many holders is shown, not
// the one whose end and successor came in the middle of a look.
func TestChangesDuringLook(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	w := quiet(dir)
	for range 30 {
		done := make(chan uint64)
		go func() {
			defer close(done)
			for range 10 {
				lock, err := solehold.Acquire(context.Background(), dir, &solehold.Options{NoSync: true})
				if err != nil {
					t.Error(err)
					return
				}
				token := lock.Token()
				lock.Release()
				done <- token
			}
		}()
		var last uint64
		for token := range done {
			w.Look(t.Context())
			last = token
		}
		if d, _ := w.Look(t.Context()).Find(dir); d.Token != last || d.State != solehold.Free || d.Acquired != int(last) {
			t.Fatalf("token %d, %d lives, %s; not %d", d.Token, d.Acquired, d.State, last)
		}
	}
}

// A lock file that changes without an event is seen some seconds later.
func TestLockFileAlone(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock, err := solehold.Acquire(t.Context(), dir, &solehold.Options{NoSync: true})
	must(t, err)
	must(t, lock.Release())
	synctest.Test(t, func(t *testing.T) {
		w := quiet(dir)
		if d, _ := w.Look(t.Context()).Find(dir); d.Record.Class != "released" {
			t.Errorf("%+v", d)
		}
		must(t, os.WriteFile(filepath.Join(dir, ".solehold", "lock"), []byte("damaged\n"), 0o600))
		<-time.After(5 * time.Second)
		if d, _ := w.Look(t.Context()).Find(dir); d.Problem == nil || d.Problem.Kind != overview.Unreadable {
			t.Errorf("%+v", d)
		}
	})
}
