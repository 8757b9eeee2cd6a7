package service

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// plain are the characters that mean nothing to systemd and to a shell.
const plain = nameLetters + "+=:,/"

// longestLine is how long a line of a unit file may be (LONG_LINE_MAX).
const longestLine = 1 << 20

// systemdLine writes a command line as ExecStart= and the like read it.
func systemdLine(command []string) (string, error) {
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = systemdWord(word, i == 0)
	}
	line := strings.Join(words, " ")
	if len(line) > longestLine-100 {
		return "", fmt.Errorf("the command line is too long for a unit file: %d bytes", len(line))
	}
	return line, nil
}

// systemdWord writes one word so that nothing in it is a quote, a specifier (%),
// a variable ($), a separator or an escape. The program's own path is not
// searched for variables.
func systemdWord(s string, program bool) string {
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0]) // not UTF-8: byte by byte
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '%', r == '$' && !program:
			b.WriteRune(r)
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
		s = s[size:]
	}
	b.WriteByte('"')
	return b.String()
}

// systemdPath writes a path as RequiresMountsFor= and the like read it: they know
// quotes and specifiers, and no escapes for what cannot be printed.
func systemdPath(s string) (string, bool) {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", false
	}
	if strings.Trim(s, plain) == "" {
		return s, true
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(s) + `"`, true
}

// windowsLine writes a command line as Windows programs take it apart again
// (CommandLineToArgvW).
func windowsLine(command []string) string {
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = windowsWord(word)
	}
	return strings.Join(words, " ")
}

// windowsWord quotes a word. Backslashes are doubled before a quote, and only
// there.
func windowsWord(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n\v\"") {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	slashes := 0
	for _, c := range []byte(s) {
		switch c {
		case '\\':
			slashes++
		case '"':
			b.WriteString(strings.Repeat(`\`, slashes+1))
			slashes = 0
		default:
			slashes = 0
		}
		b.WriteByte(c)
	}
	b.WriteString(strings.Repeat(`\`, slashes))
	b.WriteByte('"')
	return b.String()
}

// powershellWord quotes a word for PowerShell, where only the quote itself means
// something. It takes the curly ones for quotes, too.
func powershellWord(s string) string {
	return "'" + strings.NewReplacer("'", "''", "‘", "‘‘", "’", "’’", "‚", "‚‚", "‛", "‛‛").Replace(s) + "'"
}
