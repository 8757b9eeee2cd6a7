//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package supervise

import (
	"context"
	"errors"
	"syscall"
)

// Exec takes the directory and becomes the command: no wrapper stays. It only
// returns with an error, and then nothing is held. The command must keep the
// lock's descriptors open; one that closes them works unguarded.
func Exec(ctx context.Context, c Config) error {
	path, err := lookPath(c.Command[0])
	if err != nil {
		return err
	}
	r := &runner{c: c} // hears no signals: each ends this process as it would any
	if err := r.take(ctx); err != nil {
		return err
	}
	env := environ(environment(r.lock), nil)
	err = r.lock.Become(c.Command)
	if err == nil {
		err = notStarted(c.Command[0], syscall.Exec(path, c.Command, env))
	}
	return errors.Join(err, r.lock.Release())
}
