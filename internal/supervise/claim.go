package supervise

import (
	"context"
	"os"
)

// Claim takes the directory and the lock of the cluster, and gives the directory back: a sticky claim stays, for the runs
// of this directory. Nothing is started.
func Claim(ctx context.Context, c Config) error {
	if err := able(c); err != nil {
		return err
	}
	r := &runner{c: c, host: newHost(), signals: make(chan os.Signal, 32)}
	r.listen()
	defer r.deafen()
	if err := r.acquire(ctx); err != nil {
		return err
	}
	return r.giveBack(r.lock.Release)
}
