package web

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/solehold/solehold/internal/diagnose/overview"
)

// words are what the templates say things with.
func words() template.FuncMap {
	return template.FuncMap{
		"ago": ago, "stamp": stamp, "shape": shape, "kind": kind, "short": short, "command": command,
		"link": dirURL, "took": took, "health": health, "summed": summed, "inc": func(n int) int { return n + 1 }, "dec": func(n int) int { return n - 1 },
		"rowLink": func(h overview.Host, path string) string {
			if d, ok := rowOf(h, path); ok {
				return dirURL(d.Path)
			}
			return ""
		},
		"text": func(b []byte) string { return string(b) },
	}
}

// age is solehold.Age, which a page may not import. live.js says it the same way.
func age(d time.Duration) string {
	s := int(max(d, 0).Seconds())
	switch {
	case s >= 86400:
		return fmt.Sprintf("%dd%dh", s/86400, s/3600%24)
	case s >= 3600:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	case s >= 60:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%ds", s)
}

// ago is a time with its age beside it, which the script keeps right.
func ago(t, now time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	utc := t.UTC()
	return template.HTML(`<time datetime="` + utc.Format(time.RFC3339) + `" title="` + stamp(t) + `">` + age(now.Sub(t)) + `</time>`) // digits only
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// shape is a sign for a state that is told by its form, beside its word.
func shape(state any) string {
	switch fmt.Sprint(state) {
	case "HELD":
		return "●"
	case "FREE":
		return "○"
	case "UNKNOWN":
		return "?"
	}
	return "▲"
}

// kind is the class of a state for the style.
func kind(state any) string {
	switch fmt.Sprint(state) {
	case "HELD":
		return "held"
	case "FREE":
		return "free"
	case "UNKNOWN":
		return "unknown"
	}
	return "danger"
}

// short cuts a text for a line.
func short(n int, s string) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

func command(words []string) string { return strings.Join(words, " ") }

// took says a number of seconds.
func took(s float64) string {
	switch d := time.Duration(s * float64(time.Second)); {
	case d < time.Millisecond:
		return fmt.Sprintf("%dµs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%.1fms", s*1000)
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", s)
	default:
		return age(d)
	}
}

// health is how the service is in a word.
func health(d overview.Directory) string { return cmp.Or(d.Service(), "–") }

// summed says how long something took in the middle.
func summed(d overview.Durations) string {
	switch d.Count {
	case 0:
		return "not told"
	case 1:
		return took(d.Last) + ", once"
	}
	return fmt.Sprintf("%s on average, %s the last time (%d times)", took(d.Sum/float64(d.Count)), took(d.Last), d.Count)
}
