package diagnose_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/journald"
	"github.com/solehold/solehold/internal/testneed"
)

// fakeJournal puts a journalctl of our own before the real one. It cannot be
// parallel.
func fakeJournal(t *testing.T, script string) {
	t.Helper()
	if !isThere("/var/log/journal") && !isThere("/run/log/journal") {
		testneed.Root(t)
		if err := os.MkdirAll("/run/log/journal", 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove("/run/log/journal") })
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "journalctl"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A journal that hangs, fails or talks nonsense takes nothing from the history
// but its own part, and says so in time.
func TestHistoryWithBrokenJournal(t *testing.T) {
	for name, c := range map[string]struct{ script, note string }{
		"hangs":    {"exec sleep 1000\n", "systemd's journal could not be asked: journalctl: "},
		"fails":    {"echo no >&2; exit 1\n", "systemd's journal could not be asked: journalctl: no"},
		"is mute":  {"exit 1\n", "systemd's journal could not be asked: journalctl: exit status 1"},
		"nonsense": {"echo '{\"SOLEHOLD_JSON\":\"{}\"'; head -c 100000 /dev/zero; exit 0\n", "systemd's journal could not be asked: "},
		"empty":    {"exit 0\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			fakeJournal(t, c.script)
			dir := t.TempDir()
			lock, err := solehold.Acquire(context.Background(), dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := lock.Release(); err != nil {
				t.Fatal(err)
			}
			s, err := diagnose.History(context.Background(), dir, &solehold.Options{Timeout: 4 * time.Second})
			if err != nil || len(s.Events) != 2 {
				t.Errorf("%d events, %v", len(s.Events), err)
			}
			if got := strings.Join(s.Notes, "; "); c.note == "" && got != "" || !strings.HasPrefix(got, c.note) {
				t.Errorf("says %q, want %q", got, c.note)
			}
		})
	}
}

// What happens while the two are asked is in both, and nobody is said to have
// changed the file.
func TestHistoryWhileItHappens(t *testing.T) {
	dir := t.TempDir()
	hold(t, dir, nil)
	line, err := journal.Encode(journal.Event{Time: time.Now().UTC(), Seq: 1 << 60, Boot: "b", Kind: journal.Health, Detail: "now"})
	must(t, err)
	answer, err := json.Marshal(map[string]string{"SOLEHOLD_JSON": strings.TrimSpace(string(line)), "_UID": "0"})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "line"), line, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "answer"), append(answer, '\n'), 0o600))
	fakeJournal(t, "cd "+dir+"\ncat line >>.solehold/"+journal.Name+"\ncat answer\n")
	s, err := diagnose.History(t.Context(), dir, nil)
	if err != nil || len(s.Notes) > 0 || len(s.Events) != 2 || s.Events[1].Detail != "now" {
		t.Errorf("%+v %v", s, err)
	}
}

// It is asked for the directory that is meant, whatever leads there.
func TestJournalIsAskedForTheRealPath(t *testing.T) {
	dir := t.TempDir()
	fakeJournal(t, `echo "$*" >`+dir+`/asked`+"\n")
	data, link := filepath.Join(dir, "data"), filepath.Join(dir, "link")
	if err := errors.Join(os.Mkdir(data, 0o700), os.Symlink("data", link)); err != nil {
		t.Fatal(err)
	}
	if _, err := diagnose.History(context.Background(), link, nil); err != nil {
		t.Fatal(err)
	}
	if asked, err := os.ReadFile(filepath.Join(dir, "asked")); err != nil || !strings.HasSuffix(strings.TrimSpace(string(asked)), " SOLEHOLD_DIR="+data) {
		t.Errorf("%s %v", asked, err)
	}
}

// Without a journal nothing is missing.
func TestNoJournal(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := journald.Read(context.Background(), "/d"); !errors.Is(err, journald.ErrNone) {
		t.Errorf("%v", err)
	}
}
