package agent

import (
	"context"
	"os"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/supervise"
)

// Run is the agent of the `solehold run` that has started this process. An error is that there is no such run: all others
// are told to it.
func Run(ctx context.Context) error {
	conn, err := supervise.AgentConn()
	if err != nil {
		return err
	}
	Serve(ctx, conn, Options{
		Forget:   supervise.ForgetSticky,
		Sources:  cluster.Sources{Env: os.Getenv, ReadFile: os.ReadFile},
		NewGuard: func(dir, state string) (Guard, error) { return supervise.NewGuard(dir, state) },
	})
	return nil
}
