package cli

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/spf13/cobra"
)

// watchDoctor shows the answer on the terminal until a signal ends it.
func (a *app) watchDoctor(cmd *cobra.Command, o doctor.Options, pause time.Duration) error {
	out := a.terminal()
	if out == nil {
		return usage(cmd, "--watch draws on a terminal; without one, ask again and again")
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	s := openScreen(out)
	defer s.close()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for ctx.Err() == nil {
		r := doctor.Examine(ctx, o)
		if ctx.Err() == nil {
			width, height := s.size()
			s.draw(a.frame(r, height), width, nil)
			a.code = doctorCode(r)
		}
		select {
		case <-tick.C:
		case <-s.resized:
		case <-ctx.Done():
		}
	}
	if cause := cmd.Context().Err(); cause != nil && cause != context.Canceled {
		return cause
	}
	return nil
}

// frame is one picture: as many lines as fit.
func (a *app) frame(r doctor.Report, height int) []string {
	var text bytes.Buffer
	plain := &app{env: a.env}
	plain.env.Color = false
	plain.printDoctor(&text, r)
	lines := strings.Split(strings.TrimSuffix(time.Now().UTC().Format("15:04:05Z")+"  "+text.String(), "\n"), "\n")
	if len(lines) > height && height > 1 {
		lines = append(lines[:height-1], "… more: run it without --watch")
	}
	return lines
}
