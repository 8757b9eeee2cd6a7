package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
)

// printJSON writes one value as one line. What a terminal would obey instead of
// show is escaped: JSON is read by people, too, and its texts were chosen by
// others.
func (a *app) printJSON(w io.Writer, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	if err == nil {
		_, err = w.Write(escaped(b.Bytes()))
	}
	if err != nil {
		fmt.Fprintf(a.env.Stderr, "solehold: %v\n", err)
	}
}

// escaped replaces what cannot be printed. Outside of strings JSON has no such
// character but the end of the line.
func escaped(text []byte) []byte {
	if !bytes.ContainsFunc(text, unprintable) {
		return text
	}
	var b []byte
	for _, r := range string(text) {
		if !unprintable(r) {
			b = append(b, string(r)...)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			b = fmt.Appendf(b, `\u%04x`, unit)
		}
	}
	return b
}

func unprintable(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
