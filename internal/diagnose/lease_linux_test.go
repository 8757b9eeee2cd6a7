package diagnose_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
)

// The margin counts from now on the clock of this boot, and only that of the owner
// that was asked for.
func TestLeaseOf(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	if _, err := diagnose.LeaseOf(t.Context(), dir, 1, nil); err == nil {
		t.Error("a lease where nothing ever was")
	}
	lock := hold(t, dir, nil)
	if _, err := diagnose.LeaseOf(t.Context(), dir, 1, nil); !errors.Is(err, diagnose.ErrNoLease) {
		t.Errorf("without a cluster: %v", err)
	}
	self, err := procid.Of(procfs.Default(), 0)
	must(t, err)
	now := procid.SinceBoot()
	put := func(l journal.Lease) {
		page, err := l.Page()
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, ".solehold", journal.LeaseName), page, 0o600))
	}
	mine := journal.Lease{Token: lock.Token(), Boot: self.BootID, Until: now + time.Hour, TTL: 15 * time.Second, Renewals: 4, Errors: 2}
	put(mine)
	l, err := diagnose.LeaseOf(t.Context(), dir, lock.Token(), nil)
	if err != nil || l.Margin > time.Hour || l.Margin < time.Hour-time.Minute || l.TTL != mine.TTL || l.Renewals != 4 || l.Errors != 2 {
		t.Errorf("%+v, %v", l, err)
	}
	late := mine
	late.Until = now - time.Second
	put(late)
	if l, err := diagnose.LeaseOf(t.Context(), dir, lock.Token(), nil); err != nil || l.Margin > -time.Second {
		t.Errorf("%+v, %v", l, err)
	}
	other, before := mine, mine
	other.Token++
	before.Boot = "of another boot"
	for what, l := range map[string]journal.Lease{"another owner's": other, "before a reboot": before} {
		put(l)
		if l, err := diagnose.LeaseOf(t.Context(), dir, lock.Token(), nil); !errors.Is(err, diagnose.ErrNoLease) {
			t.Errorf("%s: %+v, %v", what, l, err)
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, ".solehold", journal.LeaseName), []byte(`{"token":`), 0o600))
	if l, err := diagnose.LeaseOf(t.Context(), dir, lock.Token(), nil); !errors.Is(err, diagnose.ErrNoLease) {
		t.Errorf("torn: %+v, %v", l, err)
	}
}
