package journal_test

import (
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/solehold/solehold/internal/journal"
)

// What is written can be read and fits its page, whatever a service has answered:
// markup, quotes and controls take up to six times their length in JSON.
func TestPulse(t *testing.T) {
	at := time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)
	for _, detail := range []string{"", "http 200", strings.Repeat("é", 300), "\x00\x1b[31m", strings.Repeat("<", 300), strings.Repeat(`"`, 300), strings.Repeat("\x00", 300)} {
		p := journal.Pulse{Token: 1<<64 - 1, Time: at, State: "unhealthy", Verdict: "fail", Detail: detail, Took: 0.004}
		page, err := p.Page()
		if err != nil || len(page) != journal.PageSize || page[len(page)-1] != '\n' {
			t.Fatalf("%q: %d bytes, %v", detail, len(page), err)
		}
		got, err := journal.ParsePulse(page)
		if err != nil || got.Token != p.Token || !got.Time.Equal(at) || got.Verdict != "fail" || got.Took != p.Took {
			t.Errorf("%q: %+v, %v", detail, got, err)
		}
	}
}

// A page that was cut in the middle of writing is an error, never a lie.
func TestTornPulse(t *testing.T) {
	page, err := journal.Pulse{Token: 7, State: "ready", Verdict: "ok", Detail: "http 200"}.Page()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimRight(string(page), " \n")
	for n := range len(text) {
		if got, err := journal.ParsePulse([]byte(text[:n])); err == nil {
			t.Errorf("%d bytes gave %+v", n, got)
		}
	}
}

func TestParsePulseNeverPanics(t *testing.T) {
	if err := quick.Check(func(b []byte) bool { journal.ParsePulse(b); return true }, nil); err != nil {
		t.Error(err)
	}
}

func TestPageTooLong(t *testing.T) {
	if _, err := journal.Page(strings.Repeat("x", journal.PageSize)); err == nil {
		t.Error("a page took more than it has room for")
	}
}
