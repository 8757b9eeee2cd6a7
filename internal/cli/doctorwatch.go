package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/spf13/cobra"
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
)

// watchDoctor shows the answer on the terminal until a signal ends it.
func (a *app) watchDoctor(cmd *cobra.Command, o doctor.Options, pause time.Duration) error {
	out, ok := a.env.Stdout.(*os.File)
	if !ok || !term.IsTerminal(int(out.Fd())) || a.json {
		return usage(cmd, "--watch draws on a terminal; without one, ask again and again")
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	io.WriteString(out, otherScreen)
	defer io.WriteString(out, ownScreen)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for ctx.Err() == nil {
		r := doctor.Examine(ctx, o)
		if ctx.Err() == nil {
			width, height, err := term.GetSize(int(out.Fd()))
			if err != nil {
				width, height = 80, 24
			}
			out.WriteString(a.frame(r, width, height))
			a.code = doctorCode(r)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	if cause := cmd.Context().Err(); cause != nil && cause != context.Canceled {
		return cause
	}
	return nil
}

// frame is one picture: as many lines as fit, none longer than the screen.
func (a *app) frame(r doctor.Report, width, height int) string {
	var text bytes.Buffer
	plain := &app{env: a.env}
	plain.env.Color = false
	plain.printDoctor(&text, r)
	lines := strings.Split(strings.TrimSuffix(time.Now().UTC().Format("15:04:05Z")+"  "+text.String(), "\n"), "\n")
	if len(lines) > height && height > 1 {
		lines = append(lines[:height-1], "… more: run it without --watch")
	}
	var b strings.Builder
	b.WriteString(home)
	for i, line := range lines {
		if runes := []rune(line); len(runes) > width {
			line = string(runes[:width])
		}
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line + clearLine)
	}
	b.WriteString(clearBelow)
	return b.String()
}
