package supervise

import (
	"context"
	"errors"
	"syscall"

	"github.com/solehold/solehold"
)

// Exec takes the directory and becomes the command: no wrapper stays. It only
// returns with an error, and then nothing is held. The command must keep the
// lock's descriptors open; one that closes them works unguarded.
func Exec(ctx context.Context, c Config) error {
	path, err := lookPath(c.Command[0])
	if err != nil {
		return err
	}
	r := &runner{c: c}
	lock, err := solehold.Acquire(ctx, c.Dir, &c.Options)
	if err != nil {
		return err
	}
	r.lock = lock
	if err := r.unguarded(ctx); err != nil {
		return err
	}
	env := environment(lock)
	err = lock.Become(c.Command)
	if err == nil {
		err = &CommandError{Command: c.Command[0], Err: syscall.Exec(path, c.Command, env)}
	}
	return errors.Join(err, lock.Release())
}
