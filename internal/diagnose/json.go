package diagnose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf16"
)

// JSON is a value as one line, its end included. What a terminal would obey instead
// of show is escaped: JSON is read by people, too, and its texts were chosen by others.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return escaped(b.Bytes()), nil
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
