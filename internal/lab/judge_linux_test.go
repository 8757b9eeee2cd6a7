package lab_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/lab"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	e := lab.Experiment{Name: "n", Title: "t", Facts: []lab.Fact{{What: "fact", Want: "so"}, {What: "figure"}}}
	good := map[string]string{"fact": "so", "figure": "7"}
	for _, c := range []struct {
		name            string
		seen            map[string]string
		missing, failed string
		want            lab.Outcome
		text            string
	}{
		{"all is so", good, "", "", lab.AsDescribed, "(as described, 0.0s)"},
		{"a fact differs", map[string]string{"fact": "not", "figure": "7"}, "", "", lab.Otherwise, "fact: not   <- not as described: so"},
		{"a fact is not measured", map[string]string{"figure": "7"}, "", "", lab.Otherwise, "fact: not measured"},
		{"a figure is not measured", map[string]string{"fact": "so"}, "", "", lab.Otherwise, "figure: not measured"},
		{"nothing was seen", nil, "", "", lab.Otherwise, "not measured"},
		{"something is missing", good, "needs x; get it: y", "", lab.NotRun, "(not run: needs x; get it: y)"},
		{"it broke off", good, "", "EIO", lab.Failed, "(broke off: EIO)"},
		{"it broke off before anything", nil, "", "EIO", lab.Failed, "(broke off: EIO)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := e.Judge(c.seen, c.missing, c.failed)
			if r.Outcome != c.want {
				t.Errorf("%s, want %s", r.Outcome, c.want)
			}
			wantIn(t, r.Text(), c.text)
		})
	}
}

// The worst outcome decides the exit code.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outcomes []lab.Outcome
		code     int
		text     string
	}{
		{nil, 0, ""},
		{[]lab.Outcome{lab.AsDescribed, lab.AsDescribed}, 0, "2 as described"},
		{[]lab.Outcome{lab.AsDescribed, lab.NotRun}, 2, "1 as described, 1 not run"},
		{[]lab.Outcome{lab.Failed}, 2, "1 failed"},
		{[]lab.Outcome{lab.NotRun, lab.Otherwise, lab.Failed}, 1, "1 otherwise, 1 failed, 1 not run"},
	} {
		if code, text := lab.Tally(c.outcomes); code != c.code || text != c.text {
			t.Errorf("%v: %d %q", c.outcomes, code, text)
		}
	}
}

func TestWhatIsMissingIsNotRun(t *testing.T) {
	t.Parallel()
	ran := false
	e := lab.Failing(func(string, func() int, func(error)) { ran = true }).Lacking("a tape drive", "buy one")
	r := e.Run(context.Background())
	if r.Outcome != lab.NotRun || r.Missing != "needs a tape drive; get it: buy one" || ran {
		t.Errorf("%+v, ran %v", r, ran)
	}
}

// What broke off says why, with the first error, and leaves no process and no file; nothing is done after the error.
func TestBrokenOffLeavesNothing(t *testing.T) {
	t.Parallel()
	var place string
	var pid, late int
	e := lab.Failing(func(dir string, start func() int, fail func(error)) {
		place, pid = dir, start()
		must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
		fail(errors.New("the first"))
		fail(errors.New("the second"))
		late = start()
	})
	r := e.Run(context.Background())
	if r.Outcome != lab.Failed || r.Error != "the first" {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(place); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is there: %v", place, err)
	}
	if err := syscall.Kill(pid, 0); pid == 0 || !errors.Is(err, syscall.ESRCH) || late != 0 {
		t.Errorf("process %d: %v; started after the error: %d", pid, err, late)
	}
}

// A process that was stopped is ended, too.
func TestStoppedProcessIsEnded(t *testing.T) {
	t.Parallel()
	pid := 0
	e := lab.Failing(func(_ string, start func() int, _ func(error)) {
		pid = start()
		must(t, syscall.Kill(pid, syscall.SIGSTOP))
	})
	if r := e.Run(context.Background()); r.Outcome != lab.AsDescribed || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		t.Errorf("%+v", r)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, e := range lab.All()[:1] {
		if r := e.Run(ctx); r.Outcome != lab.Failed || !strings.Contains(r.Error, "context canceled") {
			t.Errorf("%+v", r)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, indent string
		width        int
		want         string
	}{
		{"", "", 10, ""},
		{"one", "", 2, "one"},
		{"one two three", "", 7, "one two\nthree"},
		{"one two three", "  ", 9, "one two\n  three"},
		{" one   two ", "", 80, "one two"},
		{"one two", "", 6, "one\ntwo"},
	} {
		if got := lab.Wrap(c.text, c.indent, c.width); got != c.want {
			t.Errorf("%q at %d: %q", c.text, c.width, got)
		}
	}
}

// heard is a writer that tells when it was written to.
type heard struct {
	bytes.Buffer
	first chan struct{}
}

func (h *heard) Write(p []byte) (int, error) {
	if h.Len() == 0 {
		close(h.first)
	}
	return h.Buffer.Write(p)
}

// What takes over a second is told: in one line to a file, in a line that vanishes to a terminal.
func TestProgress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		terminal bool
		want     string
	}{{false, "3 of 9  x: takes more than a second\n"}, {true, "\r3 of 9  x: 1s"}} {
		w := &heard{first: make(chan struct{})}
		end := lab.Progress(w, c.terminal, "3 of 9  x")
		<-w.first
		end()
		if got := w.String(); !strings.HasPrefix(got, c.want) || strings.HasSuffix(got, "\r\x1b[K") != c.terminal {
			t.Errorf("%q", got)
		}
	}
	var quick bytes.Buffer
	lab.Progress(&quick, true, "x")()
	if quick.Len() != 0 {
		t.Errorf("what was quick said %q", quick.String())
	}
}
