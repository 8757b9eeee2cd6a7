package journal_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/journal"
)

// followed is a history on the disk with its follower.
type followed struct {
	t      *testing.T
	folder string
	f      journal.Follower
	seen   []uint64 // tokens
	anew   int      // how often it began anew
}

func (f *followed) append(text string) {
	f.t.Helper()
	file, err := os.OpenFile(filepath.Join(f.folder, journal.Name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(text); err != nil {
		f.t.Fatal(err)
	}
}

func encoded(t *testing.T, tokens ...uint64) string {
	t.Helper()
	var b strings.Builder
	for _, n := range tokens {
		line, err := journal.Encode(event(n, ""))
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
	}
	return b.String()
}

// wants reads on, and compares everything that was seen since the beginning.
func (f *followed) wants(anew int, tokens ...uint64) {
	f.t.Helper()
	restart := func() { f.seen, f.anew = nil, f.anew+1 }
	if err := f.f.Next(os.DirFS(f.folder), restart, func(e journal.Event) { f.seen = append(f.seen, e.Token) }); err != nil {
		f.t.Error(err)
	}
	if !slices.Equal(f.seen, tokens) || f.anew != anew {
		f.t.Errorf("seen %v, begun anew %d times; not %v, %d", f.seen, f.anew, tokens, anew)
	}
}

// A follower reads what was added, once, whatever becomes of the files.
func TestFollower(t *testing.T) {
	f := &followed{t: t, folder: t.TempDir()}
	f.wants(0)
	f.append(encoded(t, 1, 2))
	f.wants(0, 1, 2)
	f.wants(0, 1, 2)
	whole := encoded(t, 3)
	f.append(whole[:10])
	f.wants(0, 1, 2) // it is being written
	f.append(whole[10:] + "torn\n" + encoded(t, 4))
	f.wants(0, 1, 2, 3, 4)
	if f.f.Skipped != 1 {
		t.Errorf("%d lines skipped", f.f.Skipped)
	}
	f.append(encoded(t, 5)) // read only after the rotation
	if err := journal.Rotate(dir(f.folder)); err != nil {
		t.Fatal(err)
	}
	f.append(encoded(t, 6))
	f.wants(0, 1, 2, 3, 4, 5, 6)
	f.append(encoded(t, 7))
	f.wants(0, 1, 2, 3, 4, 5, 6, 7)
	for range 2 { // too fast to follow
		if err := journal.Rotate(dir(f.folder)); err != nil {
			t.Fatal(err)
		}
		f.append(encoded(t, 8))
	}
	f.wants(1, 1, 2, 3, 4, 5, 6, 7, 8, 8)
	if err := os.WriteFile(filepath.Join(f.folder, journal.Name), []byte(encoded(t, 9)), 0o600); err != nil {
		t.Fatal(err)
	}
	f.append(strings.Repeat("x", 3*journal.MaxLine)) // a line without an end
	f.append("\n" + encoded(t, 10))
	f.wants(1, 1, 2, 3, 4, 5, 6, 7, 8, 8, 10)
}

// What is shorter than it was is another history.
func TestFollowerOfEmptied(t *testing.T) {
	f := &followed{t: t, folder: t.TempDir()}
	f.append(encoded(t, 1, 2))
	f.wants(0, 1, 2)
	if err := os.Truncate(filepath.Join(f.folder, journal.Name), 0); err != nil {
		t.Fatal(err)
	}
	f.wants(1)
	f.append(encoded(t, 3))
	f.wants(1, 3)
	if err := os.Remove(filepath.Join(f.folder, journal.Name)); err != nil {
		t.Fatal(err)
	}
	f.wants(2)
}

// A follower and a reader see the same in any text.
func FuzzFollower(f *testing.F) {
	f.Add([]byte("{}\n"), 1)
	f.Add(bytes.Repeat([]byte("x"), 2*journal.MaxLine), 100)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		folder := t.TempDir()
		name := filepath.Join(folder, journal.Name)
		cut = min(max(cut, 0), len(text))
		var follower journal.Follower
		var seen int
		for _, part := range [][]byte{text[:cut], text} {
			if err := os.WriteFile(name, part, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := follower.Next(os.DirFS(folder), func() { seen = 0 }, func(journal.Event) { seen++ }); err != nil {
				t.Fatal(err)
			}
		}
		h, err := journal.Read(os.DirFS(folder))
		if err != nil || len(h.Events) != seen {
			t.Errorf("%d events read, %d followed, %v", len(h.Events), seen, err)
		}
	})
}

func TestFollowerTellsErrors(t *testing.T) {
	var f journal.Follower
	if err := f.Next(failing{}, nil, nil); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}
