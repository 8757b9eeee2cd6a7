package overview_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/testneed"
)

// fakeJournal puts a journalctl of our own before the real one.
func fakeJournal(t *testing.T, script string) {
	t.Helper()
	const kept = "/run/log/journal"
	if _, err := os.Stat(kept); err != nil {
		testneed.Root(t)
		must(t, os.MkdirAll(kept, 0o755))
		t.Cleanup(func() { os.Remove(kept) })
	}
	bin := t.TempDir()
	must(t, os.WriteFile(filepath.Join(bin, "journalctl"), []byte("#!/bin/sh\n"+script), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// tells is what journalctl prints of some events, sent by a user.
func tells(t *testing.T, uid int, events ...journal.Event) (lines string) {
	t.Helper()
	for _, e := range events {
		line, err := journal.Encode(e)
		must(t, err)
		row, err := json.Marshal(map[string]string{"SOLEHOLD_JSON": strings.TrimSpace(string(line)), "_UID": fmt.Sprint(uid)})
		must(t, err)
		lines += string(row) + "\n"
	}
	return lines
}

// The page of a directory has what systemd's journal knows as well, each event once,
// says where the two disagree, and is there without it. A look at all does not ask it.
func TestPastWithJournal(t *testing.T) {
	dir := dataDir(t)
	at := time.Now().Add(-time.Hour)
	event := func(n int, kind journal.Kind) journal.Event {
		return journal.Event{Time: at.Add(time.Duration(n) * time.Minute), Seq: int64(n), Boot: "one", Kind: kind, Token: 1, PID: 7, Name: "kb"}
	}
	taken, ready, removed, released := event(1, journal.Acquired), event(2, journal.Ready), event(3, journal.Refused), event(4, journal.Released)
	history(t, dir, taken, ready, released)
	text := filepath.Join(t.TempDir(), "told")
	must(t, os.WriteFile(text, []byte(tells(t, os.Getuid(), taken, removed, released)+tells(t, 65533, event(5, journal.Lost))), 0o600))
	asked := filepath.Join(t.TempDir(), "asked")
	fakeJournal(t, "echo >>"+asked+"; exec cat "+text+"\n")
	w := quiet(dir)
	w.Look(t.Context())
	if _, err := os.Stat(asked); err == nil {
		t.Error("a look asked the journal")
	}
	p, err := w.Past(t.Context(), dir, 1)
	must(t, err)
	var kinds []journal.Kind
	for _, e := range p.Events {
		kinds = append(kinds, e.Kind)
	}
	if want := []journal.Kind{journal.Released, journal.Refused, journal.Ready, journal.Acquired}; !slices.Equal(kinds, want) || p.Total != 4 || len(p.Lives) != 1 || p.Lives[0].Refused != 1 {
		t.Errorf("%v %+v", kinds, p)
	}
	notes := strings.Join(p.Notes, "\n")
	for _, want := range []string{"1 events are in systemd's journal only", "1 events are in the history file only", "1 events of systemd's journal are left out"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in %q", want, notes)
		}
	}
	fakeJournal(t, "echo no >&2; exit 1\n")
	p, err = w.Past(t.Context(), dir, 1)
	if err != nil || p.Total != 3 || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "could not be asked: journalctl: no") {
		t.Errorf("%v %+v", err, p)
	}
}
