//go:build !linux || solehold_portable

package solehold

import (
	"context"
	"errors"
	"fmt"

	"github.com/solehold/solehold/internal/procfs"
)

// proof is what was checked of the process that holds a directory: that it wrote
// the record and lives. Whose descriptor carries a lock only Linux tells.
func proof() []string { return []string{"record", "start time"} }

// holds: a directory that is held, with a record that its living writer has not
// released, is held by that one.
func (f *finder) holds(int) bool { return true }

// hidden is a question about descriptors.
func (f *finder) hidden(int) string { return "" }

// scan finds nobody: the descriptors of others cannot be seen.
func (f *finder) scan() ([]int, procfs.Gaps) { return nil, nil }

func (c *claim) sharers() ([]int, error) {
	return nil, opError("see who shares its lock on this system", c.dir.Given(), errors.ErrUnsupported)
}

func unseenNote(procfs.Gaps) string {
	return "this system does not tell who has a lock, and no living process wrote the record"
}

// join is for systems that show a process above this one to have the lock. Here a
// guarded program below `solehold run` learns that it cannot be: told of an owner it
// would leave, as if another copy were at work.
func join(_ context.Context, c *claim, _ *entry, _ Options) (*Lock, error) {
	if c.wrapped() == nil {
		return nil, nil
	}
	return nil, &OpError{Path: c.dir.Given(), Reason: Unsupported, Err: fmt.Errorf("the solehold run that started this program has it, and cannot share it on this system: "+
		"leave the lock to one of the two: %w", errors.ErrUnsupported)}
}

// tellWrapper is for a process that has joined.
func tellWrapper(string) error { return errors.ErrUnsupported }
