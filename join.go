package solehold

import (
	"os"
	"strconv"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/record"
)

// wrapped gives the record of the holder that this process was started by, as far as
// the environment says so: the holder of this directory gave it this token.
func (c *claim) wrapped() *record.Record {
	token, err := strconv.ParseUint(os.Getenv(TokenVar), 10, 64)
	if err != nil || !c.ready || !c.named() {
		return nil
	}
	rec, err := record.Decode(readRecord(c.lock))
	if err != nil || givenToken(rec) != token || rec.State == record.Released {
		return nil
	}
	return rec
}

// givenToken is what the holder gives to its programs: the cluster's token, where
// it has one.
func givenToken(rec *record.Record) uint64 {
	if rec.Cluster != nil {
		return rec.Cluster.Token
	}
	return rec.Token
}

// named reports whether the environment speaks of this directory: tokens are
// small numbers, and that of another directory may be the same.
func (c *claim) named() bool {
	key, err := datadir.KeyOf(os.Getenv(DirVar))
	return err == nil && key == c.dir.Key()
}
