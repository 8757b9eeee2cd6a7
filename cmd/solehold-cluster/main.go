// Command solehold-cluster has what a lock over several machines needs: the clients of the engines. `solehold run
// --cluster` starts `solehold-cluster agent` for each run; nobody else does.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/solehold/solehold/internal/agent"
)

const exitUsage = 64

func main() {
	if len(os.Args) != 2 || os.Args[1] != "agent" {
		fmt.Fprintln(os.Stderr, "solehold-cluster: solehold run --cluster starts this program; there is nothing in it to be started by hand yet")
		os.Exit(exitUsage)
	}
	// Those who stop a service signal all of its processes. The agent goes when the run does.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	if err := agent.Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "solehold-cluster:", err)
		os.Exit(exitUsage)
	}
}
