package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrVersion is wrapped by the warning about a server that is known to end leases early.
var ErrVersion = errors.New("this version of etcd may end leases early, or confirm the renewal of a lease that it has revoked")

// versionPatience is how long a member has to tell its version. Who does not refuse old ones waits hardly at all: a warning
// may come later.
const versionPatience = time.Second

// gate knows which members have told their version.
type gate struct {
	mu     sync.Mutex
	told   map[string]bool
	refuse error
}

// lookAtVersions asks all members at once, and again each time those that have not answered: one that is silent keeps
// nobody from another, and is not let in because it was silent once.
func (b *Backend) lookAtVersions(ctx context.Context) error {
	var all sync.WaitGroup
	for _, endpoint := range b.c.Endpoints {
		if !b.gate.has(endpoint) {
			all.Go(func() { b.lookAtVersion(context.WithoutCancel(ctx), endpoint) })
		}
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	patience := versionPatience
	if !b.c.Strict {
		patience /= 10
	}
	select {
	case <-done:
	case <-time.After(patience):
	case <-ctx.Done():
	}
	b.gate.mu.Lock()
	defer b.gate.mu.Unlock()
	return b.gate.refuse
}

func (b *Backend) lookAtVersion(ctx context.Context, endpoint string) {
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	status, err := b.client.Status(ctx, endpoint)
	if err != nil {
		return
	}
	if err = CheckVersion(status.Version); err != nil {
		err = fmt.Errorf("etcd at %s: %w", endpoint, err)
	}
	if first := b.gate.tell(endpoint, err, b.c.Strict); first && err != nil && !b.c.Strict {
		b.c.OnWarning(err)
	}
}

func (g *gate) has(endpoint string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.told[endpoint]
}

// tell takes note of an answer, and reports whether it is the first of this member.
func (g *gate) tell(endpoint string, err error, strict bool) (first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.told == nil {
		g.told = map[string]bool{}
	}
	first = !g.told[endpoint]
	if g.told[endpoint] = true; strict && err != nil {
		g.refuse = err
	}
	return first
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
