package solehold_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
)

// heard keeps what OnEvent was told, as lines of the history.
type heard struct {
	lines []string
	dirs  []string
}

func (h *heard) hear(dir string, e solehold.Event) {
	line, err := journal.Encode(e)
	if err != nil {
		line = []byte(err.Error())
	}
	h.lines, h.dirs = append(h.lines, strings.TrimSpace(string(line))), append(h.dirs, dir)
}

func (h *heard) options() *solehold.Options { return &solehold.Options{OnEvent: h.hear} }

func written(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, ".solehold", journal.Name))
	must(t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// Whoever asks for it hears each event of its own once, as it is written and in
// that order: of a holder, a starter that is turned away, one who asks it to let
// go, and a watch.
func TestOnEvent(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	var h heard
	lock, err := solehold.Acquire(context.Background(), dir, h.options())
	must(t, err)
	must(t, lock.ReadyBy("now"))
	must(t, lock.Log(solehold.Event{Kind: journal.Health, Detail: "well"}))
	watch, err := solehold.Attend(context.Background(), dir, "watch", h.options())
	must(t, err)
	must(t, watch.Log(solehold.Event{Kind: journal.Recovery, Detail: "started"}))
	must(t, watch.Close())
	q, err := solehold.RequestRelease(context.Background(), dir, solehold.ReleaseRequest{Token: lock.Token(), Why: "a test"}, h.options())
	must(t, err)
	q.Withdraw()
	must(t, lock.Release())
	if got := written(t, dir); !slices.Equal(h.lines, got) || len(got) < 6 {
		t.Errorf("heard\n%s\nwritten\n%s", strings.Join(h.lines, "\n"), strings.Join(got, "\n"))
	}
	for _, d := range h.dirs {
		if d != dir {
			t.Errorf("it is said of %s, want %s", d, dir)
		}
	}
}

// A refusal is heard by the one who was turned away.
func TestOnEventRefused(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	wantFree(t, start(t).acquire(t, dir))
	var h heard
	_, err := solehold.Acquire(context.Background(), dir, h.options())
	var held *solehold.HeldError
	if !errors.As(err, &held) {
		t.Fatal(err)
	}
	all := written(t, dir)
	if len(h.lines) != 1 || h.lines[0] != all[len(all)-1] {
		t.Errorf("heard %q, written %q", h.lines, all)
	}
}

// Where the file cannot be written the event is heard all the same: it may be the
// only trace.
func TestOnEventWithoutFile(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".solehold", journal.Name), 0o700)) // in its place
	var h heard
	o := h.options()
	warned := 0
	o.OnWarning = func(error) { warned++ }
	lock, err := solehold.Acquire(context.Background(), dir, o)
	must(t, err)
	must(t, lock.Release())
	var kinds []string
	for _, line := range h.lines {
		var e solehold.Event
		must(t, json.Unmarshal([]byte(line), &e))
		if e.Time.Before(time.Now().Add(-time.Hour)) || e.Seq == 0 || e.Token != lock.Token() {
			t.Errorf("%+v", e)
		}
		kinds = append(kinds, string(e.Kind))
	}
	if got := strings.Join(kinds, " "); got != "acquired released" || warned == 0 {
		t.Errorf("heard %q, %d warnings", got, warned)
	}
}
