//go:build !solehold_portable

package supervise

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/lease"
)

// What makers leave in thousands of machines tells none apart.
func TestRealUUID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"4C4C4544-0042-3510-8052-B4C04F4D3732": "4c4c4544004235108052b4c04f4d3732",
		"4c4c4544004235108052b4c04f4d3732":     "4c4c4544004235108052b4c04f4d3732",
		"":                                     "",
		"Not Settable":                         "",
		"4C4C4544":                             "",
		"00000000-0000-0000-0000-000000000000": "",
		"FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF": "",
		"03000200-0400-0500-0006-000700080009": "",
		"00000000-0000-0000-0000-AC1F6B000000": "00000000000000000000ac1f6b000000", // a network address is one of a kind
	} {
		if got := realUUID(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The longest that a directory keeps has room in its page, which is written over in place.
func TestKeptFitsItsPage(t *testing.T) {
	t.Parallel()
	me, err := selfOf(t.TempDir(), Cluster{Place: "etcd /p", Name: strings.Repeat("x", 500)})
	if err != nil {
		t.Fatal(err)
	}
	k := lease.Kept{Lock: me.Lock, Nonce: strings.Repeat("N", 26), Token: math.MaxUint64, Host: digest("h")}
	for i := range lease.MaxPlaces {
		k = k.At(lease.Place{Boot: digest(string(rune('a' + i))), Dir: me.Place.Dir})
	}
	if page, err := journal.Page(clusterSeen{Token: math.MaxUint64, Sticky: &k}); err != nil || len(page) != journal.PageSize {
		t.Errorf("%d bytes, %v", len(page), err)
	}
}

// Who we are is the same each time, and nobody else's: another lock, another directory, a copy.
func TestSelf(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	c := Cluster{Place: "etcd /p", Name: "kb"}
	of := func(dir string, c Cluster) lease.Self {
		t.Helper()
		me, err := selfOf(dir, c)
		if err != nil {
			t.Fatal(err)
		}
		return me
	}
	me := of(dir, c)
	if again := of(dir+"/.", c); again != me {
		t.Errorf("%+v, then %+v", me, again)
	}
	if me.Place == of(other, c).Place || me.Place.Boot != of(other, c).Place.Boot {
		t.Errorf("two directories: %+v, %+v", me, of(other, c))
	}
	for what, o := range map[string]Cluster{"name": {Place: "etcd /p", Name: "other"}, "prefix": {Place: "etcd /q", Name: "kb"}, "both": {Place: "etcd /pk", Name: "b"}} {
		if of(dir, o).Lock == me.Lock {
			t.Errorf("another %s is the same lock", what)
		}
	}
	if _, err := selfOf(dir+"/none", c); !os.IsNotExist(err) {
		t.Error(err)
	}
}
