package solehold_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/solehold/solehold"
)

func TestAge(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Hour:                         "0s",
		0:                                  "0s",
		59*time.Second + 900e6:             "59s",
		61 * time.Second:                   "1m01s",
		time.Hour:                          "1h00m",
		25*time.Hour + 59*time.Minute:      "1d1h",
		100 * 24 * time.Hour:               "100d0h",
		2*time.Hour + 3*time.Minute + 4e10: "2h03m",
	} {
		if got := solehold.Age(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// What others chose as their name cannot command a terminal.
func TestPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain äöü 日本":         "plain äöü 日本",
		"\x1b[2Jgone":          "?[2Jgone",
		"two\nlines\r\x00\x7f": "two?lines???",
		"c1 \u009b31m":         "c1 ?31m",
		"rtl \u202e \u2028":    "rtl ? ?",
	} {
		if got := solehold.Printable(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	if got := solehold.CommandLine([]string{"sleep", "60\n"}); got != "sleep 60?" {
		t.Errorf("%q", got)
	}
	if got := solehold.CommandLine([]string{strings.Repeat("ä", 1000)}); utf8.RuneCountInString(got) != 81 || !strings.HasSuffix(got, "…") {
		t.Errorf("%q", got)
	}
}

// FuzzPrintable looks for what a terminal would obey.
func FuzzPrintable(f *testing.F) {
	f.Add("\x1b]0;title\x07")
	f.Add("\xff\xc2\x9b")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range solehold.Printable(text) {
			if r < ' ' || r >= 0x7f && r < 0xa0 {
				t.Errorf("%q leaves %q", text, r)
			}
		}
	})
}

func TestOwnerString(t *testing.T) {
	t.Parallel()
	o := solehold.Owner{
		PID: 7, Command: []string{"kb", "serve"}, Since: time.Now().Add(-90 * time.Second),
		StartedBy: "kb.service", Wrapper: 6, WrapperGone: true,
	}
	got := o.String()
	for _, part := range []string{"pid 7 (kb serve), since ", "1m30s ago", "started by kb.service", "its wrapper, pid 6, is gone"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q does not say %q", got, part)
		}
	}
	uid := 33
	for want, o := range map[string]solehold.Owner{
		"pid 7":                               {PID: 7},
		"pid 7, uid 33":                       {PID: 7, UID: &uid, User: "www-data"},
		`pid 7, user HOST\me`:                 {PID: 7, User: `HOST\me`},
		"pid 7 (kb), uid 33, started by cron": {PID: 7, Command: []string{"kb"}, UID: &uid, StartedBy: "cron"},
	} {
		if got := o.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (solehold.Owner{Notes: []string{"a", "b"}}).String(); !strings.HasSuffix(got, "a; b") {
		t.Errorf("%q", got)
	}
}
