package unitcheck

import (
	"fmt"
	"slices"
	"strings"
)

// option is one setting. One that lacks has the value that counts in its place.
type option struct {
	section, key, value string
	path                string
	line                int // of its first line; 0 for a setting that lacks
}

// unit is all that is set, in order.
type unit struct {
	path, name string
	options    []option
}

// add reads the text of a file: sections, comments, lines that go on after a
// backslash. go-systemd's reader would do, but for two things: it knows no line
// numbers, and it refuses lines of more than 2,048 bytes, which systemd takes.
func (u *unit) add(path, text string) error {
	section, sections := "", 0
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		first := i + 1
		line := strings.TrimSpace(lines[i])
		switch {
		case line == "", line[0] == '#', line[0] == ';':
			continue
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			section = line[1 : len(line)-1]
			sections++
			continue
		}
		for goesOn(line) && i+1 < len(lines) {
			i++
			next := strings.TrimSpace(lines[i])
			if next != "" && (next[0] == '#' || next[0] == ';') {
				continue // a comment does not end what goes on
			}
			line = strings.TrimSuffix(line, `\`) + " " + next
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || section == "" {
			return fmt.Errorf("%s:%d: %w", path, first, errNotAUnit)
		}
		u.options = append(u.options, option{section, strings.TrimSpace(key), strings.TrimSpace(value), path, first})
	}
	if sections == 0 && path == u.path {
		return fmt.Errorf("%s: %w", path, errNotAUnit)
	}
	return nil
}

// goesOn reports whether a line ends in a backslash that is not itself escaped.
func goesOn(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// all lists the values of a setting that count: an empty one takes back those
// before it.
func (u *unit) all(section string, keys ...string) []option {
	var found []option
	for _, o := range u.options {
		switch {
		case o.section != section || !slices.Contains(keys, o.key):
		case o.value == "":
			found = slices.DeleteFunc(found, func(f option) bool { return f.key == o.key })
		default:
			found = append(found, o)
		}
	}
	return found
}

// last gives the value of a setting that counts.
func (u *unit) last(section, key string) (option, bool) {
	all := u.all(section, key)
	if len(all) == 0 {
		return option{key: key}, false
	}
	return all[len(all)-1], true
}

// is reports whether a setting has one of some values, and gives it.
func (u *unit) is(section, key string, values ...string) []option {
	o, ok := u.last(section, key)
	if ok && slices.Contains(values, strings.ToLower(o.value)) {
		return []option{o}
	}
	return nil
}

// on reports whether a switch is on.
func (u *unit) on(key string) []option { return u.is("Service", key, "yes", "true", "on", "1") }

// off reports whether a switch is off.
func (u *unit) off(key string) []option { return u.is("Service", key, "no", "false", "off", "0") }

// command is a command line taken apart.
func (o option) command() []string {
	line := strings.TrimLeft(o.value, "@-:+!| ")
	words := split(line)
	if strings.Contains(strings.TrimSuffix(o.value, line), "@") && len(words) > 1 {
		words = slices.Delete(words, 1, 2) // the name that the program is told of itself
	}
	if len(words) > 0 {
		words[0] = words[0][strings.LastIndex(words[0], "/")+1:]
	}
	return words
}

// split takes a line apart at spaces outside of quotes.
func split(line string) []string {
	var words []string
	var word strings.Builder
	open, quote, escape := false, byte(0), false
	for _, c := range []byte(line) {
		switch {
		case escape:
			word.WriteByte(c)
			escape = false
		case c == '\\':
			escape, open = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, open = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteByte(c)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}
