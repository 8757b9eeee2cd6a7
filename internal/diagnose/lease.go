package diagnose

import (
	"context"
	"errors"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
)

// Lease is how the lock at a cluster's engine is that an owner has besides.
type Lease struct {
	// Margin is the time until the owner must stop unless the engine confirms more;
	// below 0 it should have stopped.
	Margin time.Duration
	// TTL is the time to live.
	TTL time.Duration
	// Renewals counts those that the engine has acknowledged, Errors the requests that
	// it failed.
	Renewals, Errors uint64
}

// ErrNoLease says that the owner with this token has not said how its lease is.
var ErrNoLease = errors.New("nothing is written down of a lease of this owner")

// LeaseOf reads how the lease of the owner with this token is. As the others here it
// returns after o.Timeout at the latest.
func LeaseOf(ctx context.Context, dir string, token uint64, o *solehold.Options) (Lease, error) {
	return Ask(ctx, Question{dir, "read the state of the lease", limit(o)}, func() (Lease, error) {
		s, err := datadir.StateOf(dir, statePath(o))
		if err != nil {
			return Lease{}, err
		}
		defer s.Close()
		l, err := journal.ReadLease(s)
		self, _ := procid.Of(procfs.Default(), 0)
		if err != nil || l.Token != token || l.Boot != self.BootID {
			return Lease{}, errors.Join(ErrNoLease, err)
		}
		return Lease{l.Until - procid.SinceBoot(), l.TTL, l.Renewals, l.Errors}, nil
	})
}
