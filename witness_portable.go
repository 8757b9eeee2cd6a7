//go:build !linux || solehold_portable

package solehold

import (
	"errors"

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
