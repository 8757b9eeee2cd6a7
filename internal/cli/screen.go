package cli

import (
	"io"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/term"
)

// What a terminal is told. The other screen keeps the user's as it was; lines
// are overwritten in place and then cleared to their end, so nothing flickers.
const (
	otherScreen = "\x1b[?1049h\x1b[?25l"
	ownScreen   = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
	bold        = "\x1b[1m"
	plain       = "\x1b[0m"
)

// screen is a terminal that is drawn on again and again.
type screen struct {
	out *os.File
	// resized has one when the terminal has another size, on systems that tell.
	resized chan os.Signal
}

// terminal is the terminal that answers go to, nil where there is none.
func (a *app) terminal() *os.File {
	out, ok := a.env.Stdout.(*os.File)
	if !ok || !term.IsTerminal(int(out.Fd())) || a.json {
		return nil
	}
	return out
}

func openScreen(out *os.File) *screen {
	s := &screen{out, make(chan os.Signal, 1)}
	tellSize(s.resized)
	io.WriteString(out, otherScreen)
	return s
}

func (s *screen) close() {
	signal.Stop(s.resized)
	io.WriteString(s.out, ownScreen)
}

// size is that of the terminal now.
func (s *screen) size() (width, height int) {
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width < 1 || height < 1 {
		return 80, 24
	}
	return width, height
}

// draw shows one picture, which the caller has made to fit the height. Lines that
// are too wide are cut. Those in strong are bold.
func (s *screen) draw(lines []string, width int, strong func(i int) bool) {
	var b strings.Builder
	b.WriteString(home)
	for i, line := range lines {
		if runes := []rune(line); len(runes) > width {
			line = string(runes[:width])
		}
		if i > 0 {
			b.WriteString("\r\n")
		}
		if strong != nil && strong(i) {
			line = bold + line + plain
		}
		b.WriteString(line + clearLine)
	}
	b.WriteString(clearBelow)
	s.out.WriteString(b.String())
}
