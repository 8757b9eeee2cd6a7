package solehold

import (
	"context"
	"time"
)

// State is the verdict about a directory.
type State string

// The states.
const (
	// Held: it has a live owner.
	Held State = "HELD"
	// Free: nobody has it.
	Free State = "FREE"
	// Unguarded: nobody holds it, but a live process works there.
	Unguarded State = "UNGUARDED"
	// Split: two processes write there, or hold it.
	Split State = "SPLIT"
	// Detached: a live owner holds a lock file that is no longer at its path.
	Detached State = "DETACHED"
	// NotKnown: it cannot be told from here, and Err says why.
	NotKnown State = "UNKNOWN"
)

// Status is what can be told about a directory without taking anything.
type Status struct {
	// Dir is the directory, free of symlinks.
	Dir string `json:"dir"`
	// State is the verdict.
	State State `json:"state"`
	// Owner is who has it; nil where nobody does.
	Owner *Owner `json:"owner,omitempty"`
	// Record is the class of the holder's self-description.
	Record RecordStatus `json:"record"`
	// Token is the newest fencing token.
	Token uint64 `json:"token"`
	// Filesystem is where the directory lies.
	Filesystem Filesystem `json:"filesystem"`
	// Findings say what is odd.
	Findings []string `json:"findings,omitempty"`
	// Err is why the state is NotKnown.
	Err error `json:"-"`
}

// RecordStatus judges the record in the lock file.
type RecordStatus struct {
	// Class is none, released, live, stale, foreign or unreadable.
	Class string `json:"class"`
	// Why is the reason of stale, foreign and unreadable.
	Why string `json:"why,omitempty"`
	// Detail says it in words.
	Detail string `json:"detail,omitempty"`
	// State is where the recorded holder stood: starting, ready, releasing, released.
	State string `json:"state,omitempty"`
	// PID is the recorded holder.
	PID int `json:"pid,omitempty"`
	// Child is the recorded child of that holder.
	Child int `json:"child,omitempty"`
	// Name is the recorded name.
	Name string `json:"name,omitempty"`
	// Token is the recorded token.
	Token uint64 `json:"token,omitempty"`
	// Acquired is when the recorded holder took the directory.
	Acquired time.Time `json:"acquired,omitzero"`
	// Cluster is the lock that the recorded holder has at a cluster engine.
	Cluster *Cluster `json:"cluster,omitempty"`

	alive   int  // the recorded process that was judged alive
	unknown bool // neither proven alive nor dead
}

// Inspect tells who has a directory. It takes nothing, changes nothing and never
// makes a starter fail. What cannot be told is the state NotKnown with the
// reason in Err; the error of Inspect itself is only for a directory that is
// not there or may not be opened, and for a context that ended.
func Inspect(ctx context.Context, dir string, o *Options) (Status, error) {
	return inspect(ctx, dir, o.settled())
}

// InspectNamed is Inspect for what people read. Where an owner has the lock and
// has not written yet who it is, which takes it some milliseconds, it looks again
// for at most 0.3 s.
func InspectNamed(ctx context.Context, dir string, o *Options) (Status, error) {
	return inspectNamed(ctx, dir, o.settled())
}

// FilesystemOf tells on which file system a directory lies, and why one owner
// could not be promised there.
func FilesystemOf(dir string) (Filesystem, error) { return filesystemOf(dir) }
