// Command solehold-probe asks a service once whether it is well, for scripts and for `solehold run`, which runs it for
// the probes that are too large to be linked there: gRPC and https.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/solehold/solehold/internal/probecli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(probecli.Run(ctx, os.Stdout, os.Stderr, os.Args[1:]))
}
