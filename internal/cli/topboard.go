package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/solehold/solehold/internal/diagnose/overview"
)

// board is what a person has chosen on the screen of top.
type board struct {
	sort    string
	reverse bool
	filter  string
	typing  bool // what is typed belongs to the filter
	first   int  // the uppermost row that is shown
	page    int  // how many rows are shown
	quit    bool
}

// orders are what can be sorted by, in the order in which a key goes through them.
func orders() []string {
	return []string{"state", "directory", "since", "restarts", "refused", "incidents", "waiting"}
}

// typed takes in what was typed: keys as a terminal sends them.
func (b *board) typed(keys []byte) {
	for len(keys) > 0 && !b.quit {
		n := 1
		if at := slices.IndexFunc(keys[1:], final); keys[0] == '\x1b' && len(keys) > 2 && keys[1] == '[' && at > 0 {
			n = at + 2
		} else if keys[0] >= utf8.RuneSelf {
			_, n = utf8.DecodeRune(keys)
		}
		b.key(string(keys[:n]))
		keys = keys[n:]
	}
}

// final reports whether a byte ends a control sequence (ECMA-48, 5.4).
func final(c byte) bool { return c >= '@' && c <= '~' && c != '[' }

func (b *board) key(key string) {
	switch {
	case key == "\x03": // Ctrl-C, which is only a key while the terminal is raw
		b.quit = true
	case b.scroll(key):
	case b.typing:
		b.edit(key)
	case key == "q":
		b.quit = true
	case key == "s":
		all := orders()
		b.sort, b.first = all[(slices.Index(all, b.sort)+1)%len(all)], 0
	case key == "r":
		b.reverse, b.first = !b.reverse, 0
	case key == "/":
		b.typing = true
	case key == "\x1b":
		b.filter = ""
	}
}

// scroll moves what is shown; what is too far is put right when it is drawn.
func (b *board) scroll(key string) bool {
	by := map[string]int{
		"\x1b[A": -1, "\x1b[B": 1, "\x1b[5~": -b.page, "\x1b[6~": b.page,
		"\x1b[H": -b.first, "\x1b[1~": -b.first, "\x1b[F": 1 << 30, "\x1b[4~": 1 << 30,
	}
	step, ok := by[key]
	b.first = max(0, b.first+step)
	return ok
}

func (b *board) edit(key string) {
	switch key {
	case "\r", "\n":
		b.typing = false
	case "\x1b":
		b.typing, b.filter = false, ""
	case "\x7f", "\b":
		if _, n := utf8.DecodeLastRuneInString(b.filter); n > 0 {
			b.filter = b.filter[:len(b.filter)-n]
		}
	default:
		if r, _ := utf8.DecodeRuneInString(key); unicode.IsPrint(r) {
			b.filter += key
		}
	}
	b.first = 0
}

// rows chooses and orders.
func (b *board) rows(all []overview.Directory) []overview.Directory {
	rows := slices.DeleteFunc(slices.Clone(all), func(d overview.Directory) bool { return !has(d, b.filter) })
	slices.SortStableFunc(rows, func(x, y overview.Directory) int {
		n := cmp.Or(b.order(x, y), cmp.Compare(x.Path, y.Path))
		if b.reverse {
			n = -n
		}
		return n
	})
	return rows
}

// order puts first what a person looks for: the worst, the newest, the most.
func (b *board) order(x, y overview.Directory) int {
	switch b.sort {
	case "state":
		return cmp.Compare(y.Urgency(), x.Urgency())
	case "since":
		return since(y).Compare(since(x))
	case "restarts":
		return cmp.Compare(y.Restarts, x.Restarts)
	case "refused":
		return cmp.Compare(y.Refusals, x.Refusals)
	case "incidents":
		return cmp.Compare(y.Incidents, x.Incidents)
	case "waiting":
		return cmp.Compare(y.Waiters, x.Waiters)
	}
	return 0 // by directory, which decides between equals anyway
}

func since(d overview.Directory) time.Time {
	if d.Owner == nil {
		return time.Time{}
	}
	return d.Owner.Since
}

// picture is what fits on the screen; strong are its lines that an eye should find.
func (b *board) picture(h overview.Host, width, height int) (lines []string, strong map[int]bool) {
	rows := b.rows(h.Directories)
	b.page = max(1, height-3) // beside a line of numbers, one of titles and one of keys
	b.first = max(0, min(b.first, len(rows)-b.page))
	shown := rows[b.first:min(len(rows), b.first+b.page)]
	lines = append([]string{summary(h)}, table(shown, h.At, width)...)
	strong = map[int]bool{}
	for i, d := range shown {
		strong[i+2] = d.Urgency() > 1 // an eye should find it
	}
	if h.At.IsZero() {
		lines = []string{"looking …"}
	}
	for len(lines) < height-1 {
		lines = append(lines, "")
	}
	return append(lines[:max(0, height-1)], b.foot(len(rows), len(shown))), strong
}

// foot is the last line: the keys, and what is not shown.
func (b *board) foot(rows, shown int) string {
	if b.typing {
		return "filter: " + b.filter + "_   (Enter keeps it, Esc drops it)"
	}
	keys := []string{"q quit", "s sort: " + b.sort, "r reverse", "/ filter"}
	if b.reverse {
		keys[1] += ", reversed"
	}
	if b.filter != "" {
		keys[3] = fmt.Sprintf("/ filter: %q, Esc drops it", b.filter)
	}
	if rows > shown {
		keys = append([]string{fmt.Sprintf("%d to %d of %d", b.first+1, b.first+shown, rows)}, keys...)
	}
	return strings.Join(keys, "   ")
}
