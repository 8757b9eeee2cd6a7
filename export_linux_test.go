package solehold

import (
	"time"

	"github.com/solehold/solehold/internal/datadir"
)

// LooksAgain reports whether a starter would look a few times more for the name of
// this owner.
func LooksAgain(o Owner) bool { return o.unnamed }

// NamedAfter names the owner as a starter does that has read the record before
// the owner wrote its own.
func NamedAfter(dir string, before []byte) (Owner, error) {
	d, err := datadir.Open(dir)
	if err != nil {
		return Owner{}, err
	}
	c := &claim{dir: d}
	defer c.close()
	if _, err := c.openForQuery(Options{}); err != nil {
		return Owner{}, err
	}
	s := c.sighting()
	s.data = before
	return s.named(d.Path(), Options{Timeout: time.Second}), nil
}
