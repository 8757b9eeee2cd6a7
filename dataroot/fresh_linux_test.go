package dataroot_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/solehold/solehold/dataroot"
)

// Fresh instances are named after the UUID that their root keeps, and found again by
// that name.
func TestFresh(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	seen := map[string]bool{}
	for range 20 {
		r := open(t, base, "kb", &dataroot.Options{Fresh: true, Ephemeral: true, Pins: pins})
		m := r.Meta()
		hex, ok := strings.CutPrefix(m.Instance, "u")
		if !ok || len(hex) != 12 || !strings.HasPrefix(strings.ReplaceAll(m.UUID, "-", ""), hex) || seen[r.Dir()] {
			t.Errorf("%+v in %s", m, r.Dir())
		}
		seen[r.Dir()] = true
		must(t, r.Close())
		again := open(t, base, "kb", &dataroot.Options{Instance: m.Instance, Ephemeral: true, Pins: pins, MustExist: true})
		if again.Meta().UUID != m.UUID || again.Dir() != r.Dir() {
			t.Errorf("%+v is not %+v", again.Meta(), m)
		}
		again.Close()
	}
	if did, err := dataroot.GC(t.Context(), base, false, nil); err != nil || len(did) != 20 || strings.Count(removed(did), "kb") != 20 {
		t.Errorf("%+v, %v", did, err)
	}
}

// What cannot be meant is refused, and nothing is made.
func TestFreshRefused(t *testing.T) {
	t.Parallel()
	base, pins := at(t)
	if _, err := dataroot.Open(t.Context(), base, "kb", &dataroot.Options{Fresh: true, Instance: "blue", Pins: pins}); !errors.Is(err, dataroot.ErrName) {
		t.Errorf("with a name: %v", err)
	}
	if _, err := dataroot.Open(t.Context(), base, "kb", &dataroot.Options{Fresh: true, MustExist: true, Pins: pins}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that must exist: %v", err)
	}
	if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
		t.Errorf("made: %v, %v", left, err)
	}
}
