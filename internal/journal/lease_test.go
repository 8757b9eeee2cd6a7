package journal_test

import (
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/solehold/solehold/internal/journal"
)

func TestLease(t *testing.T) {
	for _, l := range []journal.Lease{
		{},
		{Token: 7, Boot: "f1b9c1a2-0000-4000-8000-123456789abc", Until: 9 * time.Second, TTL: 15 * time.Second, Renewals: 3, Errors: 1},
		{Token: math.MaxUint64, Boot: strings.Repeat("f", 36), Until: math.MaxInt64, TTL: math.MaxInt64, Renewals: math.MaxUint64, Errors: math.MaxUint64},
	} {
		page, err := l.Page()
		if err != nil || len(page) != journal.PageSize {
			t.Fatalf("%+v: %d bytes, %v", l, len(page), err)
		}
		got, err := journal.ReadLease(fstest.MapFS{journal.LeaseName: {Data: page}})
		if err != nil || got != l {
			t.Errorf("%+v, %v; want %+v", got, err, l)
		}
	}
}

func TestBadLease(t *testing.T) {
	if _, err := journal.ReadLease(fstest.MapFS{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, text := range []string{"", "{", `{"token":-1}`, `{"until":"soon"}`, strings.Repeat(" ", 1<<20) + `{"token":1}`, "\x00\xff"} {
		if l, err := journal.ReadLease(fstest.MapFS{journal.LeaseName: {Data: []byte(text)}}); err == nil {
			t.Errorf("%.20q gave %+v", text, l)
		}
	}
}
