// Command solehold-cluster has what a lock over several machines needs: the clients of the engines. `solehold run
// --cluster` starts `solehold-cluster agent` for each run, unless it is told where that of the host listens; the other
// commands are for people.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/agent"
	"github.com/solehold/solehold/internal/clustercli"
)

const exitUsage = 64

func main() {
	if len(os.Args) != 2 || os.Args[1] != "agent" {
		os.Exit(byHand())
	}
	// Those who stop a service signal all of its processes. The agent goes when the run does.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	if err := agent.Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "solehold-cluster:", err)
		os.Exit(exitUsage)
	}
}

// byHand is what a person, or a unit, has asked for.
func byHand() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return clustercli.Run(ctx, clustercli.Env{
		Stdout: os.Stdout, Stderr: os.Stderr, Open: agent.Engine, Agent: ofHost,
		Sources: cluster.Sources{Env: os.Getenv, ReadFile: os.ReadFile},
	}, os.Args[1:])
}

// ofHost is the agent that all runs share. It takes the signals itself: the first one is not the end.
func ofHost(_ context.Context, h clustercli.Host) error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	return agent.RunHost(context.Background(), agent.Place{Socket: h.Socket, Group: h.Group, URLs: h.URLs}, signals)
}
