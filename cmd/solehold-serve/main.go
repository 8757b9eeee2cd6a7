// Command solehold-serve is `solehold serve`: the local page that shows who owns which data directory, what happened, and
// what is wrong.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/solehold/solehold/internal/servecli"
)

func main() {
	debug.SetMemoryLimit(48 << 20) // the garbage collector works harder before a page about others is itself a burden
	debug.SetGCPercent(50)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(servecli.Run(ctx, os.Stdout, os.Stderr, os.Args[1:]))
}
