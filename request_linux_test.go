package solehold_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/testneed"
)

func voluntary(t *testing.T, pid, tid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid))
	if err != nil {
		return 0 // the thread has ended
	}
	_, rest, _ := strings.Cut(string(text), "\nvoluntary_ctxt_switches:")
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(strings.TrimSpace(line))
	must(t, err)
	return n
}

func asked(l *solehold.Lock) bool {
	select {
	case <-l.ReleaseRequested():
		return true
	default:
		return false
	}
}

// A request to let go reaches the holder that it names, however it is written.
func TestReleaseRequest(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(path, text string) error{
		"written": func(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) },
		"renamed": replace,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			once(t, dir)
			lock := hold(t, dir)
			path := filepath.Join(stateDir(dir), "release")
			for _, text := range []string{`{"token":1}`, `{"token":3}`, `{}`, "", "{", `{"token":"2"}`} {
				must(t, write(path, text))
				checked(t, dir)
				if asked(lock) {
					t.Fatalf("%q is not for token %d", text, lock.Token())
				}
				must(t, os.Remove(path))
			}
			must(t, write(path, `{"token":2}`))
			testneed.Until(t, "the holder is asked", func() bool { return asked(lock) })
			wantKept(t, lock)
			wantHeld(t, start(t).acquire(t, dir)) // it was only asked
		})
	}
}

// The history of a directory tells a whole life.
func TestHistoryOfALife(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	other := start(t)
	wantHeld(t, other.acquire(t, dir))
	must(t, lock.Ready())
	must(t, lock.Release())
	wantFree(t, other.acquire(t, dir))
	other.kill()
	once(t, dir)
	var kinds []string
	for _, e := range history(t, dir).Events {
		kinds = append(kinds, fmt.Sprint(e.Kind, " ", e.Token))
	}
	want := "acquired 1, refused 0, ready 1, released 1, acquired 2, vanished 2, acquired 3, released 3"
	if got := strings.Join(kinds, ", "); got != want {
		t.Errorf("history\n%s, want\n%s", got, want)
	}
	if r := events(t, dir, journal.Refused)[0]; r.PID != other.pid || *r.UID != os.Getuid() {
		t.Errorf("refused %+v", r)
	}
}

// A flood of starters is counted and does not fill the history.
func TestRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	hold(t, dir)
	other := start(t)
	const flood = 300
	other.must(t, order{Do: "try", Dir: dir, N: flood})
	tries := flood
	testneed.Until(t, "every refusal is listed or counted", func() bool {
		other.must(t, order{Do: "try", Dir: dir, N: 1})
		tries++
		sum := 0
		for _, e := range events(t, dir, journal.Refused) {
			sum += 1 + e.More
		}
		return sum == tries
	})
	if n := len(events(t, dir, journal.Refused)); n > 4 {
		t.Errorf("%d lines for %d refusals", n, tries)
	}
}

// Many starters share one limit. What is beyond it is counted.
func TestRefusalsOfManyProcesses(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	hold(t, dir)
	must(t, os.WriteFile(filepath.Join(stateDir(dir), journal.RefusalsName),
		(&journal.Refusals{Room: 2, At: time.Now()}).Text(), 0o600)) // two more may be listed
	for range 5 {
		wantHeld(t, start(t).acquire(t, dir))
	}
	if n := len(events(t, dir, journal.Refused)); n != 2 {
		t.Errorf("%d refusals listed, want 2", n)
	}
}

// The holder rotates a history that has grown.
func TestHistoryIsRotated(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	once(t, dir)
	path := filepath.Join(stateDir(dir), journal.Name)
	line := `{"time":"2026-11-29T13:20:07Z","seq":1,"kind":"ready"}` + "\n"
	must(t, os.WriteFile(path, []byte(strings.Repeat(line, journal.MaxSize/len(line)+1)), 0o600))
	once(t, dir)
	st, err := os.Stat(path)
	must(t, err)
	if _, err := os.Stat(path + ".1"); err != nil || st.Size() > 4096 {
		t.Errorf("not rotated: %d bytes, %v", st.Size(), err)
	}
}

// A history that cannot be written does not stop a start; it is a warning.
func TestHistoryCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	once(t, dir)
	path := filepath.Join(stateDir(dir), journal.Name)
	must(t, os.Remove(path))
	must(t, os.Mkdir(path, 0o700))
	got := start(t).acquire(t, dir)
	wantFree(t, got)
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], path) {
		t.Errorf("warnings %q", got.Warnings)
	}
}
