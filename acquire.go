package solehold

import (
	"context"

	"github.com/solehold/solehold/internal/datadir"
)

// Filesystem is where a directory lies and how far its locks reach.
type Filesystem = datadir.Filesystem

// lockOf is the context key under which a Lock's context carries it.
type lockOf datadir.Key

// TokenVar is the environment variable by which a holder hands its token to the
// processes below it; DirVar and NameVar name directory and holder.
const (
	TokenVar = "SOLEHOLD_TOKEN"
	DirVar   = "SOLEHOLD_DIR"
	NameVar  = "SOLEHOLD_NAME"
	// NotifyVar names the socket by which a guarded program below `solehold run`
	// tells that it is ready.
	NotifyVar = "SOLEHOLD_NOTIFY"
)

// Acquire takes the data directory dir for this process, or says who has it.
// By default it does not wait.
//
// Linux promises most. On other Unix systems the removal of the whole state
// directory lets others in and is told as a loss; on Windows it cannot be done. On
// both a holder is named by its record, and nobody joins a holder above it. A
// system that this is not written for answers errors.ErrUnsupported.
//
// After a nil error the directory is held until Release, the end of the process
// or the loss told by Lock.Context. The error is a *HeldError, an *OpError, or
// the cause of ctx; none of them leaves anything held. ctx bounds the
// acquisition only.
//
// Acquire with the context of a lock of the same directory returns that lock
// once more. Any other second acquisition in one process is a *HeldError with
// Self set. Below a `solehold run` that holds dir, one process of its tree may
// acquire dir too: it joins the holder, with the same token.
func Acquire(ctx context.Context, dir string, o *Options) (*Lock, error) {
	return acquire(ctx, dir, o.settled())
}
