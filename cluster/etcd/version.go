package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrVersion is wrapped by the warning about a server that is known to end leases early.
var ErrVersion = errors.New("this version of etcd may end leases early, or confirm the renewal of a lease that it has revoked")

// lookAtVersions asks each member for its version. A member that does not answer soon says nothing.
func (b *Backend) lookAtVersions(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, endpoint := range b.c.Endpoints {
		status, err := b.client.Status(ctx, endpoint)
		if err != nil {
			continue
		}
		if err := CheckVersion(status.Version); err != nil {
			err = fmt.Errorf("etcd at %s: %w", endpoint, err)
			if b.c.Strict {
				return err
			}
			b.c.OnWarning(err)
		}
	}
	return nil
}

// CheckVersion returns an error for a version with known bugs in its leases: a deposed leader that goes on revoking
// (before 3.4.31 and 3.5.13), and a renewal that is confirmed although the lease is being revoked (before 3.4.38, 3.5.23
// and 3.6.5).
func CheckVersion(version string) error {
	var major, minor, patch int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); n < 3 {
		return fmt.Errorf("version %.40q: %w", version, ErrVersion)
	}
	fixed := map[int]int{4: 38, 5: 23, 6: 5}
	want, ok := fixed[minor]
	switch {
	case major > 3 || major == 3 && minor > 6:
		return nil
	case major == 3 && ok && patch >= want:
		return nil
	}
	return fmt.Errorf("version %.40q: %w; use 3.4.38, 3.5.23, 3.6.5 or later, and until then a lock-delay of at least the ttl", version, ErrVersion)
}
