package agent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/testneed"
)

// lease is what a run writes down of its lease.
type lease struct {
	Token            uint64
	Until, TTL       time.Duration
	Renewals, Errors uint64
}

// lease reads that; false while there is none, or it is being written.
func (h *host) lease() (l lease, ok bool) {
	text, err := os.ReadFile(filepath.Join(h.dir, ".solehold", "lease"))
	return l, err == nil && json.Unmarshal(text, &l) == nil
}

// Who looks at a run sees until when its lock is proven, and what the engine fails.
func TestLeaseIsWrittenDown(t *testing.T) {
	t.Parallel()
	h := newHost(t, "x", engine(t))
	a := h.start()
	a.works()
	var first, l lease
	testneed.Until(t, "no renewal is written down", func() bool { l, _ = h.lease(); return l.Renewals > 0 })
	first = l
	if margin := l.Until - cluster.SystemClock().Now(); l.Token != 1 || l.TTL != ttl || margin > ttl/10*6 || l.Errors != 0 {
		t.Errorf("%+v, margin %v", l, margin)
	}
	testneed.Until(t, "it is not renewed", func() bool { l, _ = h.lease(); return l.Renewals > first.Renewals && l.Until > first.Until })
	h.proxy.Cut()
	if code := a.ended(); code != 76 {
		t.Errorf("code %d: %s", code, a.stderr.String())
	}
	if l, ok := h.lease(); !ok || l.Until > cluster.SystemClock().Now() {
		t.Errorf("the run has ended in time, and its lease is still proven: %+v", l)
	}
	h.proxy.Heal()
	b := h.start()
	b.works()
	testneed.Until(t, "the next owner's lease is not written down", func() bool { l, _ = h.lease(); return l.Token > first.Token && l.Renewals > 0 })
	b.signal(syscall.SIGTERM)
	b.ended()
}
