package health

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// lineLimit bounds a line for people.
const lineLimit = 200

// Line makes text one printable line of at most 200 bytes: line breaks and tabs become blanks, whatever could steer a
// terminal is escaped, and what is cut off is marked with "...".
func Line(text string) string {
	var b strings.Builder
	for _, r := range cut(strings.TrimSpace(text), 4*lineLimit) {
		piece := string(r)
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			piece = " "
		case r == utf8.RuneError:
			piece = "?"
		case !strconv.IsPrint(r):
			piece = strings.Trim(strconv.QuoteRuneToASCII(r), "'")
		}
		if b.Len()+len(piece) > lineLimit-len("...") {
			return b.String() + "..."
		}
		b.WriteString(piece)
	}
	return b.String()
}

// cut gives at most limit bytes of s.
func cut(s string, limit int) string { return s[:min(len(s), limit)] }

// firstLine gives the first line of an output that has text.
func firstLine(output []byte) string {
	for line := range strings.Lines(string(output)) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// after joins a line and what is known beyond it.
func after(line, more string) string {
	if more == "" {
		return line
	}
	return line + ": " + more
}

// short prints a duration without the digits that nobody reads.
func short(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(10 * time.Millisecond)
	case d >= time.Millisecond:
		d = d.Round(time.Millisecond)
	default:
		d = d.Round(time.Microsecond)
	}
	return d.String()
}
