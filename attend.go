package solehold

import (
	"context"
	"errors"
	"os"
)

// ErrAttended says that another process has this role for the directory already.
var ErrAttended = errors.New("another process is at work there already")

// Attendant is a process that works beside the holder of a directory without
// holding it, as a watch does: it may write events and keep files there.
type Attendant struct{ a *attendant }

// Attend takes a role for dir, a word of lower-case letters such as "watch", which
// one process at a time has; the error is ErrAttended while another one has it. The kernel frees the role
// with Close or the end of the process. It does not touch the directory's lock:
// nobody is kept out or let in by it. With o.Create a missing directory is made.
func Attend(ctx context.Context, dir, role string, o *Options) (*Attendant, error) {
	a, err := attend(ctx, dir, role, o.settled())
	if err != nil {
		return nil, err
	}
	return &Attendant{a}, nil
}

// Log appends an event to the directory's history.
func (a *Attendant) Log(e Event) error { return a.a.log(e) }

// StateRoot opens the directory of solehold's files. The caller closes it.
func (a *Attendant) StateRoot() (*os.Root, error) { return a.a.stateRoot() }

// Close gives the role back; calling it more often does nothing. Where a call of
// this attendant hangs it is given back when that returns.
func (a *Attendant) Close() error { return a.a.close() }
