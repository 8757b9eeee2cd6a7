package solehold

import (
	"context"
	"os"
	"strconv"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/record"
)

// join lets a guarded program run under `solehold run`: the wrapper has the
// directory, and one process of its tree may take the seat beside it. That this
// process belongs to the holder is shown by the kernel; the environment and the
// record only say where to look. What it has of the hold keeps others out, also
// when the wrapper dies.
func join(ctx context.Context, c *claim, e *entry, o Options) (*Lock, error) {
	rec := c.wrapped()
	if rec == nil {
		return nil, nil
	}
	if sits, err := c.sit(rec); !sits {
		return nil, err
	}
	k := &core{given: c.dir.Given(), o: o, e: e, c: c, dir: c.dir, rec: *rec, joined: true}
	if o.Name != "" {
		k.rec.Name = o.Name
	}
	l := k.newLock(ctx)
	l.token = givenToken(rec)
	k.openHistory()
	k.startWatch()
	return l, nil
}

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
