package journal_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/solehold/solehold/internal/journal"
)

var start = time.Date(2026, 11, 29, 13, 20, 7, 0, time.UTC)

func event(token uint64, detail string) journal.Event {
	return journal.Event{Time: start, Seq: int64(token), Kind: journal.Acquired, Token: token, PID: 7, Detail: detail}
}

// memory is a file in memory whose disk is full after room bytes.
type memory struct {
	data []byte
	room int
}

func (m *memory) Write(p []byte) (int, error) {
	n := min(len(p), m.room)
	m.data, m.room = append(m.data, p[:n]...), m.room-n
	if n < len(p) {
		return n, errors.New("no space left")
	}
	return n, nil
}

func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(m.data).ReadAt(p, off)
}

func (m *memory) Size() (int64, error) { return int64(len(m.data)), nil }

// add appends as a process does that opens the file for one event.
func add(f journal.File, e journal.Event) error {
	l, err := journal.Open(f)
	if err != nil {
		return err
	}
	return l.Append(e)
}

func read(t *testing.T, data []byte) journal.History {
	t.Helper()
	h, err := journal.Read(fstest.MapFS{journal.Name: {Data: data}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestAppendAndRead(t *testing.T) {
	m := &memory{room: 1 << 20}
	for i := range 3 {
		if err := add(m, event(uint64(i+1), "")); err != nil {
			t.Fatal(err)
		}
	}
	h := read(t, m.data)
	if len(h.Events) != 3 || h.Skipped != 0 || h.LastToken() != 3 || h.Events[2].Seq != 3 {
		t.Errorf("%+v", h)
	}
}

// A writer that dies, or whose disk is full, at every byte of a line loses that
// line at most: those before and after it are read.
func TestTornAtEveryByte(t *testing.T) {
	whole := &memory{room: 1 << 20}
	if err := add(whole, event(2, "torn")); err != nil {
		t.Fatal(err)
	}
	for n := range len(whole.data) {
		m := &memory{room: 1 << 20}
		add(m, event(1, "before"))
		m.room = n
		if err := add(m, event(2, "torn")); err == nil {
			t.Fatalf("no error with room for %d bytes", n)
		}
		m.room = 1 << 20
		add(m, event(3, "after"))
		h := read(t, m.data)
		got := h.Events
		if len(got) < 2 || got[0].Detail != "before" || got[len(got)-1].Detail != "after" {
			t.Fatalf("torn after %d bytes: %+v", n, h)
		}
		if len(got) == 3 && n != len(whole.data)-1 {
			t.Fatalf("torn after %d bytes: a cut line was read", n)
		}
	}
}

// A writer that had no room for a line and has it again later starts a new one.
func TestTornByOwnWriter(t *testing.T) {
	m := &memory{}
	l, err := journal.Open(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range []int{1 << 10, 10, 1 << 10} {
		m.room = room
		l.Append(event(1, "x"))
	}
	if h := read(t, m.data); len(h.Events) != 2 || h.Skipped != 1 {
		t.Errorf("%+v", h)
	}
}

func TestForeignLines(t *testing.T) {
	long := `{"kind":"acquired","detail":"` + strings.Repeat("x", 3*journal.MaxLine) + "\"}\n"
	text := "garbage\n\n{}\n" + long + `{"time":"2026-11-29T13:20:07Z","kind":"ready","later":1}` + "\n" + `{"time":`
	h := read(t, []byte(text))
	if len(h.Events) != 1 || h.Events[0].Kind != journal.Ready || h.Skipped != 4 {
		t.Errorf("%+v", h)
	}
}

func TestEventIsOneBoundedLine(t *testing.T) {
	for _, s := range []string{"\n", "\x00", "\xff", "ä", "<"} {
		m := &memory{room: 1 << 20}
		e := event(1, strings.Repeat(s, 10000))
		e.Name, e.By, e.Host = e.Detail, e.Detail, e.Detail
		if err := add(m, e); err != nil {
			t.Fatal(err)
		}
		if len(m.data) > journal.MaxLine || bytes.Count(m.data, []byte("\n")) != 1 {
			t.Errorf("%q: %d bytes, %d lines", s, len(m.data), bytes.Count(m.data, []byte("\n")))
		}
		if h := read(t, m.data); len(h.Events) != 1 {
			t.Errorf("%q: %+v", s, h)
		}
	}
}

// file is an os.File with the size that Append asks for.
type file struct{ *os.File }

func (f file) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

type dir string

func (d dir) Rename(from, to string) error {
	return os.Rename(filepath.Join(string(d), from), filepath.Join(string(d), to))
}

func openHistory(t *testing.T, d string) file {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(d, journal.Name), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return file{f}
}

// Writers that opened the file before a rotation lose nothing, and many writers
// at once never mix their lines.
func TestConcurrentWritersOverRotation(t *testing.T) {
	d := t.TempDir()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			f := openHistory(t, d)
			for range 50 {
				if err := add(f, event(uint64(w+1), "x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 3 {
		if err := journal.Rotate(dir(d)); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	h, err := journal.Read(os.DirFS(d))
	if err != nil || len(h.Events) != 400 || h.Skipped != 0 {
		t.Errorf("%d events, %d skipped, %v", len(h.Events), h.Skipped, err)
	}
}

func TestRotateKeepsFew(t *testing.T) {
	d := t.TempDir()
	for i := range 2 * journal.Keep {
		f := openHistory(t, d)
		if err := errors.Join(add(f, event(uint64(i+1), "")), journal.Rotate(dir(d))); err != nil {
			t.Fatal(err)
		}
	}
	names, _ := fs.Glob(os.DirFS(d), "*")
	if len(names) != journal.Keep {
		t.Errorf("files: %v", names)
	}
	h, _ := journal.Read(os.DirFS(d))
	if len(h.Events) != journal.Keep || h.Events[0].Token != journal.Keep+1 {
		t.Errorf("%+v", h.Events)
	}
}

func TestReadErrorIsTold(t *testing.T) {
	_, err := journal.Read(failing{})
	if !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}

type failing struct{}

func (failing) Open(string) (fs.File, error) { return nil, fs.ErrPermission }

func TestRefusals(t *testing.T) {
	r := journal.ParseRefusals(nil)
	now, listed, hidden := start, 0, 0
	count := func() {
		list, more := r.Next(now)
		r = journal.ParseRefusals(r.Text()) // each refusal is another process
		if list {
			listed++
		}
		hidden += more
	}
	for range 1000 {
		count()
		now = now.Add(10 * time.Millisecond)
	}
	if listed != 60 || r.Hidden != 940 {
		t.Errorf("in a burst: %d listed, %d hidden", listed, r.Hidden)
	}
	now = now.Add(3 * time.Minute)
	for range 10 {
		count()
	}
	if listed != 63 || hidden != 940 {
		t.Errorf("three minutes later: %d listed, %d hidden", listed, hidden)
	}
	now = start.Add(-time.Hour) // a clock stepped back must not silence it for an hour
	count()
	if listed != 64 {
		t.Error("silenced by a clock step")
	}
}

func TestRefusalsDamaged(t *testing.T) {
	for _, text := range []string{"", "x", "-1 2 3", "9999 0 0", "1 2"} {
		if r := journal.ParseRefusals([]byte(text)); r.Room != 60 || r.Hidden != 0 {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

func FuzzRead(f *testing.F) {
	m := &memory{room: 1 << 20}
	add(m, event(1, "x"))
	f.Add(m.data)
	f.Add([]byte("{}\n{\"kind\":1}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := journal.Read(fstest.MapFS{journal.Name: {Data: data}})
		if err != nil || h.Skipped > bytes.Count(data, []byte("\n"))+1 {
			t.Fatalf("%+v, %v", h, err)
		}
	})
}
